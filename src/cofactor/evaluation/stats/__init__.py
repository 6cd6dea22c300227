"""Tests of whether the differences between methods are more than chance."""
