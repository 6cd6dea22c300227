"""The version of the package as it was installed, where every layer may read it; it comes from the tags of git."""

from importlib.metadata import version

__version__ = version("cofactor")
