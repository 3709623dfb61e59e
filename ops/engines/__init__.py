"""Engines: what executes a region of a pipeline in place of the flat function of the plan."""
