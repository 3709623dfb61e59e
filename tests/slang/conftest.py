"""The Slang modules that several files of tests use."""

from __future__ import annotations

import pytest

slangpy = pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")

# Slang is imported only where it can run.
from tracepack.ops import slang  # noqa: E402

POLYNOMIAL = """
[Differentiable]
float polynomial(float a, float b, float c, float x) {
    return a * x * x + b * x + c;
}
"""

TENSORS = """
import "slangpy";

[Differentiable]
void polynomial(int idx, float a, float b, float c, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> result) {
    float xval = x[idx];
    result[idx] = a * xval * xval + b * xval + c;
}

[Differentiable]
void process_inplace(int idx, IRWDiffTensor<float, 1> data) {
    float value = data[idx];
    data[idx] = value * 2.0;
}

[Differentiable]
[BackwardDerivative(custom_activation_bwd)]
float custom_activation(int idx, DiffTensor<float, 1> input) {
    float x = input.load({idx});
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    return x * x * (3.0 - 2.0 * x);
}

void custom_activation_bwd(int idx, DiffTensor<float, 1> input, float dOutput) {
    float x = input._primal.load({idx});
    float dInput;
    if (x <= 0.0 || x >= 1.0) { dInput = 0.0; } else { dInput = 6.0 * x * (1.0 - x); }
    input._grad_out.add({idx}, dInput * dOutput);
}

[Differentiable]
void linear_layer(int idx, IDiffTensor<float, 2> weights, IDiffTensor<float, 1> bias,
                  IDiffTensor<float, 1> input, IWDiffTensor<float, 1> output) {
    uint in_features = weights.shape[1];
    float sum = bias[idx];
    [MaxIters(64)]
    for (uint i = 0; i < in_features; i++) {
        sum += weights[idx, i] * input[i];
    }
    output[idx] = sum;
}

float total(ITensor<float, 2> t) {
    float sum = 0;
    for (uint i = 0; i < t.shape[0]; i++)
        for (uint j = 0; j < t.shape[1]; j++)
            sum += t[i, j];
    return sum;
}

float volume(Tensor<float3, 1> sizes) {
    float sum = 0;
    for (uint i = 0; i < sizes.shape[0]; i++)
        sum += sizes[i].x * sizes[i].y * sizes[i].z;
    return sum;
}

[Differentiable]
void tripled_even(int idx, IRWDiffTensor<float, 1> data) { if (idx % 2 == 0) data[idx] = data[idx] * 3; }
[Differentiable]
void tripled_even_of(int idx, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> result) {
    if (idx % 2 == 0) result[idx] = x[idx] * 3;
}

void positions(int2 at, RWTensor<float, 2> target) { target[at] = at.x + 10 * at.y; }
int flat(int at[2]) { return at[0] * 10 + at[1]; }
void even_only(int idx, WTensor<float, 1> target) { if (idx % 2 == 0) target[idx] = 1; }
"""

TYPES = """
struct Ray { float3 origin; float3 direction; };
struct Pair : IDifferentiable { float x; float2 y; };
struct Nested : IDifferentiable { Pair pair; float z; no_diff float label; };

struct Four : IDifferentiable { Pair pairs[4]; float z; };

half half_twice(half x) { return x * 2; }
double double_twice(double x) { return x * 2; }
int8_t add_i8(int8_t a, int8_t b) { return a + b; }
uint8_t add_u8(uint8_t a, uint8_t b) { return a + b; }
int16_t add_i16(int16_t a, int16_t b) { return a + b; }
int add_i32(int a, int b) { return a + b; }
uint add_u32(uint a, uint b) { return a + b; }
int64_t add_i64(int64_t a, int64_t b) { return a + b; }
bool both(bool a, bool b) { return a && b; }
bool positive(float x) { return x > 0; }
float choose(bool which, float a, float b) { return which ? a : b; }

[Differentiable] half half_square(half x) { return x * x; }
[Differentiable] double cube(double x) { return x * x * x; }
[Differentiable] double mix64(double a, double2 b, no_diff double c) { return a * b.x * b.y + c * a; }
[Differentiable] float3 scaled(float3 v, float s) { return v * s; }
[Differentiable] float3 transformed(float3x3 m, float3 v) { return mul(m, v); }
[Differentiable] float2x3 outer(float2 a, float3 b) {
    float2x3 m;
    m[0] = a.x * b;
    m[1] = a.y * b;
    return m;
}
[Differentiable] float sum5(float a[5]) {
    float s = 0;
    [ForceUnroll] for (int i = 0; i < 5; i++) s += a[i] * (i + 1);
    return s;
}
float big(float a[100]) { float s = 0; for (int i = 0; i < 100; i++) s += a[i]; return s; }
float[3] powers(float x) { float r[3]; r[0] = 1; r[1] = x; r[2] = x * x; return r; }

float3 at(Ray ray, float t) { return ray.origin + t * ray.direction; }
Ray reversed(Ray ray) { Ray r; r.origin = ray.origin; r.direction = -ray.direction; return r; }
[Differentiable] float combine(Pair p) { return p.x * p.y.x + p.y.y; }
[Differentiable] Pair doubled(Pair p) { Pair r; r.x = 2 * p.x; r.y = 2 * p.y; return r; }
[Differentiable] float deep(Nested n) { return n.pair.x * n.z + n.pair.y.y * n.label; }

[Differentiable] float dots(Pair p[4]) {
    float s = 0;
    [ForceUnroll] for (int i = 0; i < 4; i++) s += (i + 1) * p[i].x * p[i].y.y;
    return s;
}
[Differentiable] Pair[2] two_of(Pair p, float k) {
    Pair r[2];
    r[0] = p;
    r[1].x = p.x * k;
    r[1].y = p.y * k;
    return r;
}
[Differentiable] float inside(Four f) { return f.pairs[2].x * f.z + f.pairs[0].y.x; }
float many(Pair p[50]) { float s = 0; for (int i = 0; i < 50; i++) s += i * p[i].x + p[i].y.y; return s; }

[Differentiable] void sincos_of(float x, out float s, out float c) { s = sin(x); c = cos(x); }
[Differentiable] float with_out(float x, out float square) { square = x * x; return x + 1; }
[Differentiable] void grow(inout float x, float by) { x = x * by; }
void count(inout int x) { x += 1; }
[Differentiable] float held(float x, no_diff float k) { return k * x * x; }
float plain(float x) { return x * x; }

T product<T : __BuiltinFloatingPointType>(T x, T y) { return x * y; }
[Differentiable] vector<float, N> halved<let N : int>(vector<float, N> v) { return v * 0.5f; }
[Differentiable] float ends<let N : int, let M : int>(float a[N], float b[M]) { return a[N - 1] * N + b[0] * M; }
int twice(int x) { return 2 * x; }
float twice(float x) { return 2 * x; }
"""


@pytest.fixture(scope="session")
def polynomial() -> slang.SlangModule:
    return slang.load(POLYNOMIAL)


@pytest.fixture(scope="session")
def tensors() -> slang.SlangModule:
    return slang.load(TENSORS)


@pytest.fixture(scope="session")
def types() -> slang.SlangModule:
    return slang.load(TYPES)
