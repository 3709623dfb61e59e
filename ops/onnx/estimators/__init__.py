"""Estimators of scikit-learn, XGBoost and LightGBM as ONNX models."""
