"""The tuner: searches for schedules by measuring them, and keeps the fastest."""
