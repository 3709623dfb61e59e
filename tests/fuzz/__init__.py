"""Hostile files and hostile calls: what no file may do, tried in forked children until something gives way."""
