"""Reductions of the features which look at the labels."""
