"""Models which turn the labels into binary problems."""
