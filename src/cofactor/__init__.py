"""cofactor fills in matrices: star ratings and labels, factorized under losses made for discrete data."""

__version__ = "0.1.0.dev0"
