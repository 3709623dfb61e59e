"""ONNX models as ops, run by ONNX Runtime, and estimators of scikit-learn and its kin converted to them."""
