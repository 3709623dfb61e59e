"""Errors that the function itself catches."""
