"""Text, tables, figures, pictures and HTML pages for people to read."""
