"""The version of tracepack, which files name as their producer."""

__version__ = "0.1.0"
