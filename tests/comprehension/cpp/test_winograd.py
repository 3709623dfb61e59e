"""Winograd's method against torch's convolution in double precision, where it applies, and where it must not."""

from dataclasses import replace

import pytest
import torch

from tracepack.ops.comprehension import Options, define
from tracepack.ops.comprehension.cpp.emitter import CppEmitter
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.loops.fusion import groups
from tracepack.ops.comprehension.loops.winograd import match
from tracepack.ops.comprehension.program.specialise import specialise
from tracepack.ops.comprehension.schedule.analysis import rated
from tracepack.ops.kernels.cpu import target

CONV = "def conv(float(N,C,H,W) I, float(M,C,KH,KW) F) -> (O) { O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * F(m,c,kh,kw) }"
SWAPPED = "def conv(float(M,C,KH,KW) F, float(N,C,H,W) I) -> (O) { O(n,m,h,w) +=! F(m,c,kh,kw) * I(n,c,h+kh,w+kw) }"


def nest_of(text: str, *shapes: tuple[int, ...]):
    program = specialise(check(parse(text)[0]), list(shapes))
    return program, groups(program, True)[0].nests[0]


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize(
    ("n", "c", "h", "w", "m"),
    [
        (1, 8, 5, 5, 8),
        (2, 17, 9, 40, 13),
        (3, 8, 36, 37, 20),
        (1, 70, 12, 83, 9),
        (2, 130, 21, 6, 11),
        (1, 9, 5, 200, 8),
    ],
)
def test_equals_torch(n, c, h, w, m, threads):
    """Odd sizes, one and several vectors a row, one and several blocks a picture, outputs that fill no block."""
    shapes = [(n, c, h, w), (m, c, 3, 3)]
    program, nest = nest_of(CONV, *shapes)
    convolution = match(nest)
    assert convolution is not None
    assert convolution.sizes == (n, c, h, w, m)
    image, weight = (torch.randn(s) for s in shapes)
    schedule = ProgramSchedule((Schedule(winograd=True, threads=threads),))
    (found,) = CppEmitter(program, schedule)([image, weight])
    expected = torch.conv2d(image.double(), weight.double())
    plain = (torch.conv2d(image, weight) - expected).abs().max()
    assert (found - expected).abs().max() <= 4 * plain + 1e-5


def test_either_factor_may_come_first():
    program, nest = nest_of(SWAPPED, (8, 8, 3, 3), (1, 8, 7, 9))
    assert match(nest) is not None
    weight, image = torch.randn(8, 8, 3, 3), torch.randn(1, 8, 7, 9)
    (found,) = CppEmitter(program, ProgramSchedule((Schedule(winograd=True),)))([weight, image])
    torch.testing.assert_close(found, torch.conv2d(image, weight), rtol=1e-4, atol=1e-4)


OTHERS = {
    "stride": (CONV.replace("h+kh", "2*h+kh"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "dilation": (CONV.replace("kh,w+kw", "2*kh,w+kw"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "kernel": (CONV, [(1, 8, 9, 9), (8, 8, 3, 5)]),
    "double": (CONV.replace("float", "double"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "few channels": (CONV, [(1, 4, 9, 9), (8, 4, 3, 3)]),
    "transposed": (CONV.replace("O(n,m,h,w)", "O(n,h,w,m)"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "flipped": (CONV.replace("F(m,c,kh,kw)", "F(m,c,kw,kh)"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "part": (CONV.replace(" }", " where h in 0:4 }"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "contents": (CONV.replace("+=!", "+="), [(1, 8, 9, 9), (8, 8, 3, 3)]),
    "maximum": (CONV.replace("+=!", "max=!"), [(1, 8, 9, 9), (8, 8, 3, 3)]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_another_formula_is_left_alone(name):
    text, shapes = OTHERS[name]
    _, nest = nest_of(text, *shapes)
    assert match(nest) is None


def test_a_schedule_for_another_nest_does_not_apply():
    text, shapes = OTHERS["stride"]
    program, _ = nest_of(text, *shapes)
    image, weight = (torch.randn(s) for s in shapes)
    (found,) = CppEmitter(program, ProgramSchedule((Schedule("w", 1, winograd=True),)))([image, weight])
    torch.testing.assert_close(found, torch.conv2d(image, weight, stride=(2, 1)), rtol=1e-4, atol=1e-4)


def test_the_analysis_chooses_it_where_channels_are_many():
    many, few = [(8, 64, 28, 28), (64, 64, 3, 3)], [(2, 8, 9, 9), (8, 8, 3, 3)]
    best = {str(s): rated(nest_of(CONV, *s)[1], target(), 0)[0].schedule for s in (many, few)}
    assert best[str(many)].winograd
    program, _ = nest_of(CONV, *many)
    (schedule,) = Options(tile={"w": 2}).resolve(program).nests
    assert not schedule.winograd
    assert replace(best[str(few)], winograd=False) == best[str(few)]


def test_gradients_are_those_of_the_formula():
    layer = define(CONV)
    image, weight = torch.randn(1, 64, 12, 14, requires_grad=True), torch.randn(64, 64, 3, 3, requires_grad=True)
    found, expected = layer(image, weight), torch.conv2d(image, weight)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    seed = torch.randn_like(expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, [image, weight], seed), torch.autograd.grad(expected, [image, weight], seed),
        rtol=1e-3, atol=1e-3,
    )  # fmt: skip
