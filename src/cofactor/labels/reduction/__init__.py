"""Reductions of the features which use the labels."""
