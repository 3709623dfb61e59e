"""The list of torch's functions that engines are held to; of all others, torch is the only one to compute them.

Each runtime has its own formulas, and what it computes otherwise shows only at numbers that somebody tried.
`tests/campaigns/engines` holds each of these functions against torch at such numbers, and what was found wrong there is
not on the list, or is checked in each run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from .number_checks import OF_INTEGERS

_FLOATING = (
    # products
    "linear addmm addmv addbmm addr baddbmm mv vdot inner outer ger tensordot kron bilinear linalg_multi_dot "
    "linalg_vecdot vecdot cross linalg_cross cosine_similarity pairwise_distance norm linalg_norm "
    "linalg_vector_norm linalg_matrix_norm normalize dist block_diag "
    # convolutions and pools
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution unfold im2col "
    "fold col2im avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d max_pool1d_with_indices "
    "max_pool2d_with_indices max_pool3d_with_indices adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d "
    # norms, attention, recurrent layers
    "batch_norm layer_norm group_norm instance_norm rms_norm local_response_norm native_batch_norm "
    "native_layer_norm native_group_norm weight_norm scaled_dot_product_attention softmax log_softmax softmin "
    "safe_softmax lstm gru lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell "
    # activations
    "relu relu6 leaky_relu prelu rrelu elu celu selu gelu silu mish glu sigmoid hardsigmoid hardswish hardtanh "
    "hardshrink softshrink softsign softplus threshold tanh dropout dropout1d dropout2d dropout3d alpha_dropout "
    "feature_dropout feature_alpha_dropout "
    # arithmetic
    "true_divide truediv rtruediv rdiv itruediv idiv reciprocal rsqrt sqrt exp exp2 log log2 log10 logit expit erf "
    "sin cos tan asin acos atan arcsin arccos arctan asinh acosh atanh arcsinh arccosh arctanh sinc frac lerp "
    "addcmul addcdiv ipow deg2rad rad2deg hypot xlogy entr rsub float double half bfloat16 conj conj_physical real "
    "fix "
    # comparisons
    "eq ne lt le gt ge not_equal less less_equal greater greater_equal isfinite isnan isinf isposinf isneginf "
    "isreal heaviside logical_and logical_or logical_xor logical_not all any bool "
    # reductions
    "nanmean std var std_mean var_mean logsumexp aminmax quantile trapz trapezoid gradient cov corrcoef "
    # resizing
    "interpolate upsample upsample_nearest upsample_bilinear upsample_nearest1d upsample_nearest2d "
    "upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d pixel_shuffle "
    "pixel_unshuffle channel_shuffle native_channel_shuffle reflection_pad1d reflection_pad2d reflection_pad3d "
    "replication_pad1d replication_pad2d replication_pad3d "
    # losses
    "mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy hinge_embedding_loss "
    "margin_ranking_loss triplet_margin_loss poisson_nll_loss gaussian_nll_loss "
    # other
    "diag diagonal diag_embed index_put linspace eye hann_window blackman_window "
    "len data set_grad_enabled "
)
FUNCTIONS = OF_INTEGERS.union(_FLOATING.split())
"""The plain names of the functions."""


def unlisted(func: Any, name: str, found: Any) -> str:
    """Why a function is not among those that engines are held to; empty where it is.

    Args:
        func: the function.
        name: its plain name.
        found: what it gave.
    """
    made = [value for value in pytree.tree_leaves(found) if isinstance(value, torch.Tensor)]
    own = getattr(func, "namespace", "aten") != "aten"  # an operator of somebody else's may have any name
    if (own or name.removeprefix("special_") not in FUNCTIONS) and (made or found is None):
        return f"`{name}` is not on the list of functions that engines are held to"
    if name not in OF_INTEGERS and any(value.dtype in (torch.int32, torch.int64) for value in made):
        return f"`{name}` of integers is not on the list of functions that engines are held to"
    return ""
