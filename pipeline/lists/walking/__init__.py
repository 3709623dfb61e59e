"""Iterators over lists of any length, and loops that go on for as long as a condition holds."""
