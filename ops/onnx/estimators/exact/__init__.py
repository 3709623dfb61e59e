"""Converters of our own, where those of skl2onnx answer otherwise or in float32 alone."""
