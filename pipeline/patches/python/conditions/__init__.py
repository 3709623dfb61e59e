"""Conditions of recorded code: tests for None, for a match, and what must hold in every run."""
