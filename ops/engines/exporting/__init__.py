"""Regions as models of other formats: by torch.export, and from there to ONNX."""
