"""The second recording, and what it tells about the first."""
