"""Commands that fill a file of their own; cli.py registers them."""
