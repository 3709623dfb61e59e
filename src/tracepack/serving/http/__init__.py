"""HTTP: the Open Inference Protocol, and plain JSON for those who know no protocol."""
