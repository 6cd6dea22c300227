"""Cells of work, their keys, the store of their results, and what computes them side by side."""
