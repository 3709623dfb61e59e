"""The passes of GCC that kernels are compiled with, as GCC itself lists them."""

from __future__ import annotations

import subprocess

import pytest

from tracepack.ops.kernels.toolchain import find_toolchain
from tracepack.ops.slang.compile.native_library import flags_for

NEEDED = {
    "-ftree-loop-vectorize", "-ftree-slp-vectorize", "-fvect-cost-model=[unlimited|dynamic|cheap|very-cheap] dynamic",
    "-fpeel-loops", "-funroll-completely-grow-size", "-fversion-loops-for-strides",
}  # fmt: skip
"""The last has no name in GCC 9; the one before it writes short loops out."""


def enabled(*flags: str) -> set[str]:
    """The optimisations that are on with these flags."""
    command = [*find_toolchain().command, *flags, "-Q", "--help=optimizers"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.replace("[enabled]", "").strip().replace(" \t", " ") for line in lines if "[disabled]" not in line}


@pytest.mark.skipif(find_toolchain().family != "gcc", reason="clang has no flags that name its passes")
def test_no_pass_of_o3_but_those_that_kernels_need() -> None:
    flags = [each for each in flags_for(find_toolchain())[0] if each.startswith(("-O", "-f"))]
    meaning = [each for each in flags if each in ("-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fPIC")]
    assert enabled(*flags) - enabled("-O2", *meaning) <= NEEDED
    assert "-ftree-loop-vectorize" in enabled(*flags)
