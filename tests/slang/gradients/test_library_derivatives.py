"""Derivatives of Slang's own functions that Slang has wrong, against torch's in double precision."""

from __future__ import annotations

import pytest
import torch

from tracepack.ops import slang

MODULE = """
[Differentiable] {t} power({t} x, {t} y) {{ return pow(x, y); }}
[Differentiable] {t} square({t} x, {t} y) {{ return pow(x, 2) * y; }} // pow(x, y) in a comment
[Differentiable] {t} rest({t} x, {t} y) {{ return fmod(x, y); }}
[Differentiable] {t} root({t} x, {t} y) {{ return sqrt(x * x) * rcp(y); }}
[Differentiable] {t} size({t}3 v, {t} y) {{ return length(v) * y + distance(v, 2 * v); }}
[Differentiable] {t}3 unit({t}3 v, {t} y) {{ return normalize(v) * y; }}
[Differentiable] {t}2 powers({t}2 v, {t} y) {{ return pow(v, {t}2(3)) * y; }}
"""
REFERENCES = {
    "power": torch.pow,
    "square": lambda x, y: x**2 * y,
    "rest": torch.fmod,
    "root": lambda x, y: (x * x).sqrt() / y,
    "size": lambda v, y: v.norm(dim=-1) * y + v.norm(dim=-1),
    "unit": lambda v, y: v / v.norm(dim=-1, keepdim=True) * y[..., None],
    "powers": lambda v, y: v**3 * y[..., None],
}


@pytest.fixture(scope="module", params=["float", "double"])
def module(request: pytest.FixtureRequest) -> tuple[slang.SlangModule, torch.dtype]:
    return slang.load(MODULE.format(t=request.param)), getattr(torch, request.param)


@pytest.mark.parametrize("name", REFERENCES)
def test_slope_is_torchs_for_small_and_negative_numbers(
    module: tuple[slang.SlangModule, torch.dtype], name: str
) -> None:
    x = torch.tensor([-5.3, -2.0, -1e-5, 1e-8, 3e-7, 0.4, 7.1], dtype=torch.float64)
    y = torch.tensor([2.0, -1.0, 1.0, 0.5, 1e-7 if name == "root" else 2.0, -2.5, 1.7], dtype=torch.float64)
    own = {"size": 3, "unit": 3, "powers": 2}.get(name)
    if own:
        x = x[:, None] * torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)[:own]
    mine = [each.to(module[1]).requires_grad_() for each in (x, y)]
    theirs = [each.detach().double().requires_grad_() for each in mine]
    getattr(module[0], name)(*mine).sum().backward()
    REFERENCES[name](*theirs).sum().backward()
    for got, wanted in zip(mine, theirs, strict=True):
        torch.testing.assert_close(got.grad.double(), wanted.grad, rtol=1e-3, atol=1e-5, equal_nan=True)


def test_function_of_the_users_that_has_such_a_name_is_the_users() -> None:
    module = slang.load("""
    struct Line : IDifferentiable {
        float a;
        [Differentiable] float length(float by) { return a * by; }
        [Differentiable] float twice(float by) { return 2 * length(by); }
    };
    [Differentiable] float sqrt(float x, float y) { return x * y; }
    [Differentiable] float f(float x, float y) { Line l; l.a = x; return l.twice(y) + sqrt(x, y) + pow(x, 2); }
    """)
    x, y = (torch.tensor([value], requires_grad=True) for value in (-3.0, 5.0))
    module.f(x, y).sum().backward()
    assert (x.grad.item(), y.grad.item()) == (3 * 5 + 2 * -3, 3 * -3)


def test_file_that_is_imported_has_the_right_slopes(tmp_path) -> None:
    (tmp_path / "lib.slang").write_text("[Differentiable] float even(float x) { return pow(x, 2); }")
    (tmp_path / "main.slang").write_text(
        "import lib; [Differentiable] float f(float x) { return even(x) * pow(x, 3); }"
    )
    x = torch.tensor([-2.0], requires_grad=True)
    slang.load(tmp_path / "main.slang").f(x).sum().backward()
    assert x.grad.item() == 5 * 16


NAMED_ANEW = {
    "overload": "[Differentiable] float pow(float x, int n) { return x * n; }",
    "method": "struct P { float a; [Differentiable] float pow(float x) { return x; } };",
    "namespace": "namespace n { [Differentiable] float pow(float x) { return x; } }",
    "generic": "[Differentiable] T pow<T : IFloat>(T x, T y) { return x * y; }",
    "same generic": "[Differentiable] T pow<T : __BuiltinFloatingPointType>(T x, T y) { return x * y; }",
    "macro": "#define pow(x, y) pow(x, y)",
}


@pytest.mark.parametrize("declared", NAMED_ANEW.values(), ids=NAMED_ANEW)
def test_slope_of_slangs_own_beside_a_function_of_its_name_is_refused(declared: str) -> None:
    module = slang.load(f"{declared}\n[Differentiable] float f(float x) {{ return pow(x, 2.0f); }}")
    x = torch.tensor([-2.0], requires_grad=True)
    value = module.f(x)
    with pytest.raises(slang.SlangGradientError, match="the module names a function 'pow', and may call Slang's own"):
        value.sum().backward()


CALLED = {
    "behind a comma": ("max(a, sqrt(b))", lambda a, b: torch.maximum(a, b.sqrt())),
    "as an exponent": ("pow(a, sqrt(b))", lambda a, b: a ** b.sqrt()),
    "behind a comparison": ("(a < b ? a : b > a ? sqrt(b) : a)", lambda a, b: torch.where(a < b, a, a)),
    "in brackets": ("(float) sqrt(b) * a", lambda a, b: b.sqrt() * a),
    "in a comment": ("a * sqrt(b); // it takes the sqrt (slow)", lambda a, b: b.sqrt() * a),
}


@pytest.mark.parametrize("form", CALLED)
def test_a_call_of_slangs_own_is_no_declaration_of_its_name(form: str) -> None:
    text, reference = CALLED[form]
    module = slang.load(f"[Differentiable] float f(float a, float b) {{ return {text};\n }}")
    mine, theirs = ([torch.tensor([0.5, 2.0, 3.0]).add(n).requires_grad_() for n in (0, 1)] for _ in range(2))
    for function, (a, b) in ((module.f, mine), (reference, theirs)):
        function(a, b).sum().backward()
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one.grad, torch.zeros(3) if other.grad is None else other.grad)


def test_call_of_the_modules_own_beside_slangs_name_has_its_slope() -> None:
    module = slang.load("""
    [Differentiable] float pow(float x, int n) { return x * n; }
    [Differentiable] float f(float x) { return pow(x, 3) * x; }
    """)
    x = torch.tensor([-2.0], requires_grad=True)
    module.f(x).sum().backward()
    assert x.grad.item() == -12


def test_overload_of_an_imported_file_has_its_slope(tmp_path) -> None:
    (tmp_path / "lib.slang").write_text("[Differentiable] float pow(float x, int n) { return x * n; }")
    (tmp_path / "main.slang").write_text("import lib; [Differentiable] float f(float x) { return pow(x, 3) * x; }")
    x = torch.tensor([-2.0], requires_grad=True)
    slang.load(tmp_path / "main.slang").f(x).sum().backward()
    assert x.grad.item() == -12


def test_clamp_has_the_slope_of_the_bound_that_it_gives() -> None:
    module = slang.load("""
    [Differentiable] float f(float x, float low, float high) { return clamp(x, low, high) * clamp(int(x), 0, 1); }
    [Differentiable] float2 g(float2 x, float2 low, float2 high) { return clamp(x, low, high); }
    """)
    x, low, high = torch.tensor([[1.5, 1, 2], [1, 1.25, 2], [3, 1, 2], [1, 2, 1], [1.5, 2, 1], [3, 2, 1], [1, 1, 2]]).T
    for function in (module.f, lambda *given: module.g(*(each[:, None].expand(-1, 2) for each in given)).mean(-1)):
        mine = [each.clone().requires_grad_() for each in (x, low, high)]
        theirs = [each.clone().requires_grad_() for each in (x, low, high)]
        got, wanted = function(*mine), torch.clamp(theirs[0], theirs[1], theirs[2])
        assert torch.equal(got, wanted)
        got.sum().backward()
        wanted.sum().backward()
        for one, other in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("name", ["copysign", "atan2"])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_slope_at_zeros_is_that_of_torch(name: str, dtype: str) -> None:
    module = slang.load(f"[Differentiable] {dtype} f({dtype} x, {dtype} y) {{ return {name}(x, y); }}")
    values = torch.tensor([0.0, -0.0, 1.0, -2.5], dtype=getattr(torch, dtype))
    x, y = (each.flatten() for each in torch.meshgrid(values, values, indexing="ij"))
    mine, theirs = ([each.clone().requires_grad_() for each in (x, y)] for _ in range(2))
    module.f(*mine).sum().backward()
    getattr(torch, name)(*theirs).sum().backward()
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad)
