"""Saves and caches that are ended at any moment, without room, or by several at once."""
