"""Lowered loop nests, and the description of their schedules, for the emitters of code."""
