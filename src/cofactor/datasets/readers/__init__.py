"""One module for each format of files."""
