"""InputTypes: the types that a converted graph takes its columns in, which need not be those of the example.

scikit-learn puts the columns of a step together before it computes, so that integers beside floating numbers become
float64. skl2onnx takes the type of the first column, or none that fits. The columns of such a step are converted to
their common type ahead of the graph; a table of numbers alone becomes one matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph.errors import ScriptError
from ..ports import TEXT
from .converters import parts
from .rows import Rows

_SKL_TYPES = {
    "float32": "FloatTensorType", "float64": "DoubleTensorType", "int64": "Int64TensorType", "int32": "Int32TensorType",
    "int16": "Int16TensorType", "int8": "Int8TensorType", "uint8": "UInt8TensorType", "bool": "BooleanTensorType",
    TEXT: "StringTensorType",
}  # fmt: skip
_APART = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "ColumnTransformer")  # which take columns one by one


@dataclass(frozen=True)
class InputTypes:
    """The types of the inputs of a converted graph.

    Attributes:
        dtypes: of each input by its name; a graph with one input for many columns takes them as a matrix.
        width: of the inputs.
    """

    dtypes: Mapping[str, str]
    width: int = 1

    def of_skl2onnx(self) -> list[tuple[str, Any]]:
        """The inputs as skl2onnx wants them.

        Raises:
            ScriptError: it takes no such input.
        """
        from skl2onnx.common import data_types

        found = []
        for name, dtype in self.dtypes.items():
            kind = _SKL_TYPES.get(dtype)
            if kind is None:
                raise ScriptError("skl2onnx takes no input of this dtype", where=f"input {name!r}", got=dtype)
            found.append((name, getattr(data_types, kind)([None, self.width])))
        return found


def input_types(estimator: Any, rows: Rows) -> Iterator[InputTypes]:
    """The types to try, those first that lose nothing of what scikit-learn computes with."""
    dtypes = rows.dtypes()
    width = rows.data.shape[1] if isinstance(rows.data, np.ndarray) else 1
    given = InputTypes(dtypes, width)
    floating = {name: "float64" if np.dtype(kind).kind in "iub" else kind for name, kind in _numbers(dtypes).items()}
    tried = [given, InputTypes(dtypes | floating, width)]
    if width == 1 and len(dtypes) > 1 and len(floating) == len(dtypes) and not _takes_apart(estimator):
        common = _common(dtypes)
        tried = [InputTypes({"X": common}, len(dtypes)), InputTypes({"X": _common(floating)}, len(dtypes)), *tried]
    elif hasattr(rows.data, "iloc"):
        tried = [InputTypes(_merged(estimator, dtypes)), *tried]
    yield from (each for number, each in enumerate(tried) if each not in tried[:number])


def _numbers(dtypes: Mapping[str, str]) -> dict[str, str]:
    return {name: dtype for name, dtype in dtypes.items() if dtype != TEXT}


def _common(dtypes: Mapping[str, str]) -> str:
    return np.result_type(*map(np.dtype, dtypes.values())).name


def _takes_apart(estimator: Any) -> bool:
    """Whether what an estimator does first is done to each column by itself."""
    while True:
        for field in ("best_estimator_", "steps"):
            held = getattr(estimator, field, None)
            if held is not None:
                estimator = held[0][1] if field == "steps" else held
                break
        else:
            return type(estimator).__name__ in (*_APART, "FeatureUnion")


def _merged(estimator: Any, dtypes: Mapping[str, str]) -> dict[str, str]:
    """The dtypes, with the common one where a step computes with several."""
    found, names = dict(dtypes), list(dtypes)
    for part in parts(estimator):
        for _, step, columns in getattr(part, "transformers_", ()):
            group = _numbers({name: dtypes[name] for name in _chosen(columns, names)})
            mixed = len({*group.values()}) > 1 and _common(group) in ("float32", "float64")
            if mixed and not _takes_apart(step):
                found |= dict.fromkeys(group, _common({**group, **{each: found[each] for each in group}}))
    return found


def _chosen(columns: Any, names: list[str]) -> list[str]:
    """The names of the columns that a `ColumnTransformer` chooses."""
    if isinstance(columns, slice):
        return names[columns] if not isinstance(columns.start, str) and not isinstance(columns.stop, str) else []
    chosen: list[Any] = [columns] if isinstance(columns, str | int) else list(columns)
    found = [each if isinstance(each, str) else names[each] for each in chosen if _stands_for(each, names)]
    return [each for each in found if each in names]


def _stands_for(column: Any, names: list[str]) -> bool:
    if isinstance(column, str):
        return True
    return isinstance(column, int | np.integer) and -len(names) <= int(column) < len(names)
