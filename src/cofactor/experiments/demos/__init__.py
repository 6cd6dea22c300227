"""Demos: declared comparisons with published figures, examples and pictures, and one code that runs and shows them."""
