"""Writes `operators.txt`, the table of operators that an archive may name, each with its grade and effect.

Run it by hand when a new torch is supported, and read the diff: a name that enters the table can be called by any
file that a user loads. What reads or writes files, exposes memory, or changes a tensor's storage stays out. Grades come
from hostile calls, effects from calls that are watched:

    python -m tests.fuzz operators --calls 2000 --journal calls.jsonl
    python -m tests.fuzz edges --calls 300 --journal edges.jsonl
    python -m tests.fuzz changed --calls 2000 --journal changed.jsonl
    python -m tests.fuzz searched --calls 500 --journal searched.jsonl
    python -m tests.fuzz effects --journal effects.jsonl
    python tools/list_operators.py calls.jsonl edges.jsonl changed.jsonl searched.jsonl effects.jsonl
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import torch
from torch.overrides import get_overridable_functions, resolve_name

from tracepack.ops.graph.operators import names as operators
from tracepack.ops.runtime.primitives.wrapped import wrapper

TARGET = Path(__file__).parent.parent / "ops" / "graph" / "operators" / "operators.txt"

# Storage, files, memory, autograd, hooks, Python escapes. Matched against the last parts of a name.
DENIED = re.compile(
    r"""(^|\.)(
      set_ | set | from_file | as_strided_(copy|scatter)\.out
      | resize.* | _resize.* | record_stream | data_ptr
      | storage.* | untyped_storage | apply_ | map_ | map2_ | module_load | backward | register_.* | retain_grad
      | requires_grad_?
      | grad | grad_fn
      | _grad.* | share_memory_ | pin_memory | is_shared | tolist | item | _version | _backward_hooks | _base
      | to_sparse.* | _to_sparse.* | __array.* | __dlpack.* | __cuda_array_interface__ | __repr__ | __format__
      | __reduce.* | __setstate__ | __deepcopy__ | __dir__ | __hash__ | __len__ | __iter__ | __bool__ | __float__
      | __int__ | __index__ | __complex__ | __contains__ | __reversed__ | is_nonzero
      | new | reinforce | .*__set__ | __delete__ | _make_subclass | _make_wrapper_subclass | _rebuild.*
      | _is_view | _cdata | name | names | volatile | output_nr |  from_buffer | frombuffer
      | _nested.* | nested.* | sparse_(coo|csr|csc|bsr|bsc|compressed)_tensor.* | _sparse.* | mkldnn.* | to_mkldnn
      | dense_dim | sparse_dim | indices | values | crow_indices | col_indices | ccol_indices | row_indices | coalesce
      | get_device | compile | save | load | _dimI | _dimV | _indices | _values | _coalesced_? | is_coalesced
      | sym_(size|stride|numel|storage_offset)\..* | .*_backward(_.*)? | _backward
      | _assert_tensor_metadata\..* | const_data_ptr | choose_qparams.* | fbgemm_.* | cuda | ipu | xpu | mtia
      | sparse_resize.* | segment_reduce | autocast | retains_grad | grad_dtype | is_set_to | is_distributed
    )(\.|$)""",
    re.VERBOSE,
)
UNDERSCORED = re.compile(
    r"aten\._(softmax|log_softmax|to_copy|unsafe_view|assert_async|assert_scalar|scaled_dot_product.*|"
    r"native_batch_norm_legit.*|weight_norm.*|conj.*|neg_view.*|fft_.*|linalg_.*|cdist_forward|pdist_forward|"
    r"embedding_bag|embedding_bag_forward_only|euclidean_dist|trilinear|upsample_.*|adaptive_avg_pool.*|unique2?|"
    r"transformer_encoder_layer_fwd|native_multi_head_attention|addmm_activation|prelu_kernel|is_all_true|"
    r"is_any_true|convolution|stack|int_mm|weight_int8pack_mm|logcumsumexp|cummax_helper|cummin_helper|"
    r"standard_gamma|sample_dirichlet|dirichlet_grad|masked_softmax|safe_softmax|chunk_cat|test_.*|"
    r"pad_circular|pad_enum|add_relu.*|lu_with_info|aminmax|batch_norm_with_update.*|remove_batch_dim|reshape_copy|"
    r"fused_rms_norm|grouped_mm|ctc_loss|spdiags|shape_as_tensor|dim_arange)\."
)
DUNDERS = re.compile(r"torch\.Tensor\.__(r?(add|sub|mul|truediv|div|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)|"
                     r"i(add|sub|mul|truediv|div|floordiv|mod|pow|and|or|xor|lshift|rshift)|"
                     r"neg|pos|invert|abs|eq|ne|lt|le|gt|ge|getitem|setitem)__$")  # fmt: skip
# Of the backward pass, these alone: they check their sizes, and take no indices.
BACKWARD = """aten._softmax_backward_data.default aten._log_softmax_backward_data.default
    aten.native_dropout_backward.default"""
FACTORIES = """arange empty eye full full_like linspace logspace ones ones_like rand randint randn randperm normal range
    scalar_tensor tensor as_tensor asarray tril_indices triu_indices zeros zeros_like empty_like rand_like randn_like
    randint_like hann_window hamming_window blackman_window bartlett_window kaiser_window complex polar vander
    cartesian_prod block_diag empty_strided empty_permuted""".split()

# Functions that torch dispatches but does not list as overridable.
OVERLOOKED = """torch.fill torch.nn.functional.hardswish torch.nn.functional.hardsigmoid torch.nn.functional.sigmoid
    torch.nn.functional.tanh torch.nn.functional.celu_ torch.nn.functional.elu_ torch.nn.functional.hardtanh_
    torch.nn.functional.leaky_relu_ torch.nn.functional.relu_ torch.nn.functional.rrelu_ torch.nn.functional.selu_
    torch.nn.functional.threshold_ torch.split_with_sizes_copy torch.unsafe_chunk torch.allclose torch.equal
    torch._chunk_cat torch.as_strided torch.as_strided_ torch._native_batch_norm_legit torch.hash_tensor
    torch.Tensor.hash_tensor torch.from_numpy torch._C._nn.pad_sequence torch._pack_padded_sequence
    torch._pad_packed_sequence""".split()


# numpy's functions: pure, without files, callbacks, random numbers, or dtypes of the result that data decides.
NUMPY = """abs absolute add all amax amin angle any append arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    argmax argmin argpartition argsort argwhere around array array_equal array_split asarray ascontiguousarray
    asanyarray atleast_1d atleast_2d atleast_3d average bincount bitwise_and bitwise_not bitwise_or bitwise_xor
    broadcast_to broadcast_arrays cbrt ceil clip column_stack compress concatenate conj conjugate convolve copy copysign
    corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum deg2rad degrees delete diag diagflat diagonal
    diff digitize divide divmod dot dsplit dstack ediff1d einsum equal exp exp2 expand_dims expm1 extract fabs fix
    flatnonzero flip fliplr flipud float_power floor floor_divide fmax fmin fmod frexp full_like gcd gradient greater
    greater_equal heaviside histogram hsplit hstack hypot i0 imag inner insert interp invert isclose allclose isfinite
    isin isinf isnan isneginf isposinf kron lcm ldexp left_shift less less_equal lexsort linspace log log10 log1p log2
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace matmul max maximum mean median meshgrid
    min minimum mod modf moveaxis multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian
    nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar negative nextafter nonzero not_equal ones_like outer
    packbits pad partition percentile polyval positive power prod ptp quantile rad2deg radians ravel real reciprocal
    remainder repeat reshape resize right_shift rint roll rollaxis rot90 round searchsorted select sign signbit sin sinc
    sinh sort spacing split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot
    tile trace transpose tril triu true_divide trunc union1d intersect1d setdiff1d unique unpackbits unravel_index
    ravel_multi_index unwrap vander var vdot vsplit vstack where zeros ones full zeros_like linalg.cholesky linalg.det
    linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_power linalg.norm linalg.pinv linalg.qr linalg.slogdet
    linalg.solve linalg.svd fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift
    fft.ihfft
    fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn""".split()
ARRAY_METHODS = """all any argmax argmin argpartition argsort astype clip compress conj conjugate copy cumprod cumsum
    diagonal dot fill flatten item max mean min nonzero partition prod put ravel repeat reshape round searchsorted sort
    squeeze std sum swapaxes take trace transpose var view""".split()

# Functions of scipy.special: those of numbers one by one, without functions that they call, and three over an axis.
SPECIAL = """beta betaln betainc binom boxcox boxcox1p cbrt digamma entr erf erfc erfcinv erfcx erfi erfinv exp1 exp10
    exp2 expi expit expm1 exprel gamma gammainc gammaincc gammaln huber i0 i0e i1 i1e inv_boxcox inv_boxcox1p j0 j1 k0
    k1 kl_div log1p log_expit log_ndtr loggamma logit ndtr ndtri pseudo_huber psi rel_entr rgamma xlog1py xlogy y0 y1
    zetac softmax log_softmax logsumexp""".split()


def arrays() -> set[str]:
    """Names of functions and methods of arrays that the recorder may record, with the ways to fold binary ones."""
    import numpy

    binary = [name for name in NUMPY if getattr(getattr(numpy, name, None), "nin", 0) == 2]
    folds = {f"{name}.{way}" for name in binary for way in ("reduce", "accumulate", "outer", "reduceat")}
    special = {f"scipy.special.{name}" for name in SPECIAL}
    return {f"numpy.{name}" for name in folds | set(NUMPY) | {f"ndarray.{name}" for name in ARRAY_METHODS}} | special


def recorded() -> set[str]:
    """Names of the torch functions that the recorder may record."""
    names = {resolve_name(f) for functions in get_overridable_functions().values() for f in functions}
    names |= {f"torch.{name}" for name in FACTORIES if hasattr(torch, name)}
    names |= {f"torch.{name}" for name in dir(torch._C._VariableFunctions) if name.endswith("_") and name[0] != "_"}
    names |= {f"torch.Tensor.{name}" for name in dir(torch.Tensor) if not name.startswith("_") and _is_method(name)}
    return {name for name in names if name and name.startswith("torch.") and allowed(name)} | set(OVERLOOKED)


def _is_method(name: str) -> bool:
    return callable(getattr(torch.Tensor, name))


def lowered() -> set[str]:
    """Names of the ATen overloads that a lowered op may hold."""
    names = {name.replace("::", ".") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    names = {name if name.count(".") == 2 else f"{name}.default" for name in names}
    return {name for name in names if allowed(name) and not _writes_elsewhere(name)}


def _writes_elsewhere(name: str) -> bool:
    """Whether it is a form that writes its results into tensors given by name."""
    base, which = name.removeprefix("aten.").rsplit(".", 1)
    schema = torch._C._get_schema(f"aten::{base}", "" if which == "default" else which)
    return any(argument.is_out for argument in schema.arguments)


# Forms that write into a tensor which they are given, forms over named dimensions, and what torch tests itself with.
UNLISTED = re.compile(
    r"""\.(\w*_)?out(_\w+)?$ | ^aten\..*\.(\w*_)?(dimname|names|grad_input|values_stable|dim_max|dim_min)(_\w+)?$
    | ^aten\.\w+\.(\w+_)*out\w*$ | ^aten\._test | _remove_batch_dim | ^aten\.empty_quantized | ^aten\.set_data
    | ^aten\.\w*\.(Dimname|\w*Dimname|\w*_dimname\w*)$ | ^aten\._dirichlet_grad | ^aten\._linalg_check | sym_constrain
    | ^aten\.(_shape_as_tensor|_dim_arange|rename|promote_types|result_type|can_cast|is_vulkan\w*)
    | ^aten\.(_spdiags|_pad_enum)""",
    re.VERBOSE,
)


def allowed(name: str) -> bool:
    """Whether a name passes the rules above."""
    if UNLISTED.search(name):
        return False
    if name in BACKWARD.split():
        return True
    if "torch.Tensor.__" in name and not name.endswith("__get__"):
        return bool(DUNDERS.match(name))
    if re.search(
        r"(^|\.)(cudnn|miopen|mps|mkldnn|quantized|fake_quantize|q_|rename|refine|align|_fused|_foreach)", name
    ):
        return False
    if name.startswith("aten._") and not name.startswith("aten.__"):
        return bool(UNDERSCORED.match(name)) and not DENIED.search(name)
    if name.startswith("torch._") or "._" in name.replace(".__get__", "").replace("aten.__", ""):
        return False
    return not DENIED.search(name)


def candidates() -> list[str]:
    """Every name that the rules let in, for the fuzzer to try."""
    return sorted(recorded() | lowered() | arrays())


def graded(name: str, lost: dict[str, str], known: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """The grade of an operator and why, from the hostile calls of it and of those with the same kernel."""
    if name not in known:
        return operators.TRUSTED, "no hostile calls of it were made"
    if name in lost:
        return operators.TRUSTED, lost[name]
    if wrapper(name) is not None:
        return operators.WRAPPED, "a check of ours stands before the call"
    if name.startswith((*operators.OF_ARRAYS, "torch.nn.")):
        return operators.PROVEN, ""
    related = next(
        (other for other in lost if not other.startswith("numpy.") and base_of(other) == base_of(name)), None
    )
    return (operators.PROVEN, "") if related is None else (operators.TRUSTED, f"as {related}")


def base_of(name: str) -> str:
    """The name of the kernel: functions, methods and overloads of one name share it."""
    return name.split(".")[1] if name.startswith("aten.") else name.rpartition(".")[2]


def main() -> None:
    """Writes the table from the journals of calls and of effects; of one kind, a later journal wins."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "journals", nargs="+", type=Path, help="journals of calls, of `operators`, `edges`, `changed` and `searched`"
    )
    parser.add_argument("watched", type=Path, help="the journal of `effects`")
    given = parser.parse_args()
    for path in (*given.journals, given.watched):
        if not path.is_file():
            parser.error(f"there is no file {str(path)!r}")
    journals, watched = given.journals, given.watched
    known: dict[str, dict[str, Any]] = {}
    for row in (
        row for journal in journals for row in map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    ):
        other = known.get(row["name"])
        if other is None or row["losses"] or other.get("kind", "hostile") == row.get("kind", "hostile"):
            known[row["name"]] = row
    effects = dict(map(json.loads, watched.read_text(encoding="utf-8").splitlines()))
    lost = {
        name: f"{row['losses'][0][1]} in {row.get('kind', 'hostile')} call {row['losses'][0][0]}"
        for name, row in known.items()
        if row["losses"]
    }
    lines = []
    for name in candidates():
        grade, reason = graded(name, lost, known)
        calls = known[name]["calls"] if name in known else 0
        lines.append(f"{name} {grade} {effects.get(name, operators.WRITES_ANY)} {calls} {reason}".rstrip())
    TARGET.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} operators -> {TARGET.name}")


if __name__ == "__main__":
    main()
