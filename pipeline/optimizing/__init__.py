"""Chooses engines for the regions of a pipeline, by measurement, within a tolerance."""
