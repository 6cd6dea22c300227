"""Compiled loops over observed entries, margins and flat vectors.

Every kernel is a module-level function compiled by Numba and cached on disk. It works on a range of rows, columns
or elements, writes only what lies in that range and releases the interpreter's lock, so that ranges may run in
several threads. No result depends on how the ranges were cut.
"""
