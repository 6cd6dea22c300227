"""Models which make binary problems of the labels."""
