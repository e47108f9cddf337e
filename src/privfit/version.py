"""The version of privfit. It is not read from the installed package, which may be older than this source."""

__version__ = "0.2.0"
