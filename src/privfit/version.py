"""Which privfit this is. What is installed may be older than the source that runs, so nobody asks pip."""

__version__ = "0.2.0"
