"""A card for a machine that has none: programs written for CUDA run as they are written, in the memory of the CPU.

Every tensor says that it lies on ``cuda:0``, and whatever takes a device takes that one. SlangPy's CUDA device is
replaced by one that compiles a kernel's own Slang text as C++ and runs it thread by thread. Two things cannot be seen
so: a tensor that was left on the CPU by mistake, and what the card's own compiler and arithmetic do. For the first half
of the second the CUDA text of each kernel goes to NVIDIA's compiler; the rest needs a card, where these tests run too.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tracepack.ops.kernels.toolchain import find_toolchain
from tracepack.ops.slang.compile.client import ask
from tracepack.ops.slang.compile.codegen import GROUP
from tracepack.ops.slang.compile.native_library import flags_for
from tracepack.ops.slang.compile.slangc import arguments_for
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.launch import cpu, gpu
from tracepack.pipeline.rules import (
    settings,
    torch_functions,  # noqa: F401  # made before a stand-in, its tables hold torch's own getters
)

CUDA = torch.device("cuda", 0)
_FACTORIES = (
    "arange asarray as_tensor empty empty_like empty_strided eye full full_like linspace ones ones_like rand rand_like "
    "randint randn randn_like randperm scalar_tensor tensor zeros zeros_like"
).split()
_TYPES = {"float": ctypes.c_float, "int": ctypes.c_int, "double": ctypes.c_double, "uint8_t": ctypes.c_uint8}
# On a card an index outside becomes 0; what C++ calls instead is written by the launcher on the CPU, which is not here.
_OUTSIDE = "static int tracepack_outside(unsigned, unsigned) { return 0; }\n"
_RUN_THREADS = """
extern "C" void run(void* parameters, unsigned threads)
{{
    for (unsigned i = 0; i < threads; i++) {{
        ComputeThreadVaryingInput input = {{}};
        input.groupID = {{i / {group}u, 0, 0}};
        input.groupThreadID = {{i % {group}u, 0, 0}};
        _{entry}(&input, parameters, nullptr);
    }}
}}
"""


class Card:
    """SlangPy's CUDA device, its compiler sessions and its kernels, on the CPU.

    Args:
        folder: for what is compiled.

    Attributes:
        launches: for each launch its entry, its numbers of threads, its stream and its variables.
    """

    def __init__(self, folder: Path) -> None:
        self.launches: list[dict[str, Any]] = []
        self._folder, self._numbers = folder, itertools.count()
        self._kernels: list[tuple[Path, str]] = []

    def load_module_from_source(self, name: str, text: str) -> SimpleNamespace:
        return SimpleNamespace(entry_point=lambda entry: (text, entry))

    def link_program(self, modules: list[Any], entries: list[tuple[str, str]]) -> tuple[str, str]:
        return entries[0]

    def create_compute_kernel(self, program: tuple[str, str]) -> SimpleNamespace:
        text, entry = program
        unit = self._folder / f"kernel{next(self._numbers)}.slang"
        unit.write_text(text)
        self._kernels.append((unit, entry))
        library = unit.with_suffix(".so")
        code = _OUTSIDE + _translated(unit, entry, "cpp") + _RUN_THREADS.format(group=GROUP, entry=entry)
        toolchain = find_toolchain()
        toolchain.compile(code, library, *flags_for(toolchain))
        run = ctypes.CDLL(str(library)).run
        parameters = re.search(rf"void {entry}\(([^)]*)\)", text)
        assert parameters is not None
        names = [(n, _TYPES.get(t, ctypes.c_uint64)) for t, n in re.findall(r"uniform (\S+) (\w+)", parameters[1])]

        def dispatch(threads: list[int], cuda_stream: Any, **variables: Any) -> None:
            assert {name for name, _ in names} == variables.keys()
            self.launches.append({"entry": entry, "threads": threads, "stream": cuda_stream, **variables})
            packed = type("Parameters", (ctypes.Structure,), {"_fields_": names})(**variables)
            run(ctypes.byref(packed), ctypes.c_uint(threads[0]))

        return SimpleNamespace(dispatch=dispatch)

    def cuda_texts(self) -> list[str]:
        """The CUDA text of every kernel that was made."""
        return [_translated(unit, entry, "cuda") for unit, entry in self._kernels]


def _translated(unit: Path, entry: str, target: str) -> str:
    includes = [tensor_module(one_thread=target == "cpp")] if "slangpy" in unit.read_text(encoding="utf-8") else []
    code: str = ask(arguments=arguments_for(unit, includes, entry=entry, target=target), do="code")["code"]
    return code


def _without_device(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        here = {name: "cpu" if _is_card(value) else value for name, value in kwargs.items()}
        return function(*(("cpu" if _is_card(value) else value) for value in args), **here)

    return call


def _is_card(value: Any) -> bool:
    return isinstance(value, str | torch.device) and str(value).startswith("cuda")


def _device(tensor: torch.Tensor) -> torch.device:
    own = torch._C.TensorBase.device.__get__(tensor)
    return CUDA if own.type == "cpu" else own


@contextmanager
def stand_in(folder: Path) -> Iterator[Card]:
    """A machine with one CUDA card, as far as programs can see; its kernels are compiled in the folder."""
    card = Card(folder)
    with pytest.MonkeyPatch.context() as patch:
        _tensors_on_the_card(patch)
        _one_card(patch)
        handles = SimpleNamespace(NativeHandle=SimpleNamespace(from_cuda_stream=lambda stream: stream))
        patch.setattr(gpu, "import_slangpy", lambda: handles)
        patch.setattr(gpu, "shared_device", lambda kind, index=0: card)
        patch.setattr(gpu, "session_for", lambda kind, index, source: card)
        yield card


def _tensors_on_the_card(patch: pytest.MonkeyPatch) -> None:
    for name in _FACTORIES:
        patch.setattr(torch, name, _without_device(getattr(torch, name)))
    patch.setattr(cpu, "_new", _without_device(cpu._new))
    patch.setattr(torch.jit, "load", _without_device(torch.jit.load))
    patch.setattr(torch.Tensor, "to", _without_device(torch.Tensor.to))
    patch.setattr(torch.Tensor, "cuda", lambda tensor, *args, **kwargs: tensor)
    patch.setattr(torch.Tensor, "device", property(_device))
    patch.setattr(torch.Tensor, "is_cpu", property(lambda tensor: _device(tensor).type == "cpu"))
    patch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: _device(tensor).type == "cuda"))


def _one_card(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(torch.cuda, "is_available", lambda: True)
    patch.setattr(torch.cuda, "device", lambda device: nullcontext())
    patch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    patch.setattr(torch.cuda, "get_device_name", lambda device=None: "stand-in")
    patch.setattr(torch.cuda, "current_stream", lambda device=None: SimpleNamespace(cuda_stream=("of", device)))
    patch.setattr(torch.accelerator, "is_available", lambda: True)
    patch.setattr(torch.accelerator, "device_count", lambda: 1)
    patch.setattr(settings, "with_accelerator", lambda graph, examples: graph)  # it would find all tensors on the card
    patch.setattr(torch.accelerator, "current_accelerator", lambda check_available=False: torch.device("cuda"))
