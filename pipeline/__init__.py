"""The recorder, and the Pipeline that `trace` and `load` return."""
