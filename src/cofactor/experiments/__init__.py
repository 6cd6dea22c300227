"""The published tables and figures, declared as data."""
