"""The version of the package, where every layer may read it."""

__version__ = "0.1.0.dev0"
