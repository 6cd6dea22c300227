"""Models which give each label features of its own."""
