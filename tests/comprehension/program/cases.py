# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Gradients: derived and checked by gradcheck on both emitters, named as on the page, reordered, and free."""

REORDER = """
def convolution(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(M) B) -> (tmp, O) {
  tmp(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)
  O(n, m, h, w) = tmp(n, m, h, w) + B(m)
}
def convolution_grad(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(M) B, float(N,M,HO,WO) O_grad)
-> (I_grad, W1_grad, B_grad) {
  I_grad(n, c, h, w) +=! h >= kh && h - kh < HO && w >= kw && w - kw < WO ? O_grad(n, m, h - kh, w - kw) * W1(m, c, kh, kw) : 0.0
    where n in 0:N, c in 0:C, h in 0:H, w in 0:W, m in 0:M, kh in 0:KH, kw in 0:KW
  W1_grad(m, c, kh, kw) +=! O_grad(n, m, h, w) * I(n, c, h + kh, w + kw) where kh in 0:KH, kw in 0:KW
  B_grad(m) +=! O_grad(n, m, h, w)
}
"""
