"""Recordings of functions that are written anew: choices as calls, and statements as blocks of plain Python."""
