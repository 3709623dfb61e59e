"""Comparing two recordings of a function: what differs, which sizes are free, and what state the function keeps."""
