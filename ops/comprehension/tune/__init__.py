"""The tuner: searches schedules by measuring them, and keeps what it found."""
