"""Operators on rows of several lengths."""
