"""`python -m pomdplite.cli`."""

from pomdplite.cli.main import main

main()
