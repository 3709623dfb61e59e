"""Schedules: how loops are tiled, unrolled and divided among threads, and what that costs."""
