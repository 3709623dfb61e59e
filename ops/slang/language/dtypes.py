"""The torch dtype of each Slang scalar; apart from `types.py`, so that the compiler's process need not import torch."""

from __future__ import annotations

import torch

DTYPES: dict[str, torch.dtype] = {
    "bool": torch.bool,
    "int8_t": torch.int8,
    "uint8_t": torch.uint8,
    "int16_t": torch.int16,
    "uint16_t": torch.uint16,
    "int": torch.int32,
    "uint": torch.uint32,
    "int64_t": torch.int64,
    "uint64_t": torch.uint64,
    "half": torch.float16,
    "float": torch.float32,
    "double": torch.float64,
}
"""The torch dtype of each Slang scalar."""

SCALARS: dict[torch.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}
"""The Slang scalar of each torch dtype."""

BOUNDS: dict[str, tuple[int, int]] = {
    name: (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    for name, dtype in DTYPES.items()
    if dtype is not torch.bool and not dtype.is_floating_point
}
"""The smallest and the largest value of each Slang integer."""
