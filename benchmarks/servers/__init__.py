"""Servers measured for a long time, and beside others."""
