"""Runs a Graph: as one flat Python function, with the checks that its signature asks for."""
