"""Readers and writers, one module for each format of files; what they share is in modules of its own."""
