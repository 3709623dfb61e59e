"""Writes processing functions as Python source, as people write them: views, writes, sizes, branches, loops, ops.

Every statement is tried on real tensors as it is written, and dropped if torch refuses it, so that whole functions
run. What can only be refused (a branch on data, a write into a tensor from outside) is in a few functions alone.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tests.campaigns.programs import Program

BOLD = 0.06  # the share of functions that may do what can only be refused
UNARY = """relu sigmoid tanh exp neg abs sin sqrt square floor round isnan sign cumsum(-1) softmax(-1) sort(-1).values
    clamp(-1,1) contiguous() clone() detach() flatten() t() double() float() long() bool() half() mean() sum() amax()
    argmax(-1) mean(-1) sum(0) amax(-1,keepdim=True) std(-1) norm() flip(0) nonzero() unique() topk(1).indices
    to(torch.complex64) real isfinite() logical_not() cos() any() tril() roll(1,0) diff() argsort(-1) prod(-1)""".split()
VIEWS = """view(-1) reshape(-1) transpose(0,-1) unsqueeze(0) unsqueeze(-1) squeeze() T mT narrow(0,0,1) flatten()
    view(N,-1) reshape(-1,N) expand(2,-1,-1) permute(1,0) unbind(0)[0] unbind(0)[-1] chunk(2)[-1] split(2)[0] diagonal()
    movedim(0,-1) select(0,0) view_as(self) expand_as(self) unfold(0,1,1) unflatten(0,(1,-1)) swapaxes(0,1) ravel()""".split()
SLICES = """[0] [-1] [1:] [:-1] [::2] [:N] [N//2:] [...,0] [None] [:,0] [...,:2] [:,None] [0,0] [[0]] [torch.tensor([0,0])]
    [:N-1] [...,-1:] [MASK] [MASK.nonzero()[:,0]] [INDEX]""".split()
BINARY = "+ - * / // % ** == < >= & | @".split()
TWO = """torch.maximum torch.minimum torch.where_ torch.cat_ torch.stack_ torch.outer torch.matmul torch.atan2 torch.dot
    torch.broadcast_tensors_ torch.add_alpha_ torch.lerp_ torch.allclose_""".split()
INPLACE = """add_(1) mul_(2) zero_() relu_() clamp_(min=0) neg_() fill_(0.5) copy_(OTHER) t_() unsqueeze_(0) squeeze_()
    add_(OTHER) mul_(OTHER) masked_fill_(MASK,0.0) index_fill_(0,torch.tensor([0]),3.0) exp_() transpose_(0,-1) sub_(N)
    addcmul_(OTHER,OTHER) cumsum_(0) sigmoid_() floor_()""".split()
SIZES = """T.shape[0] T.shape[-1] T.size(0) len(T) T.numel() T.dim() T.size(-1)//2 T.shape[0]+1 T.stride(0) sum(T.shape)
    max(T.shape) min(T.shape[0],3) N*2 N%2 N//2 abs(N-3) N-1 int(N/2) round(N*0.7) int(N) divmod(N,2)[0] T.storage_offset()
    len([1,2,3]) T.ndim -N (N+N)//2 max(N,2) N**2 T.element_size() math.ceil(N/2) T.shape.numel() pow(N,2)""".split()
SCALARS = """T.sum().item() T.mean().item() T.flatten()[0].item() S*2 S+N S-0.5 S/3 N/2 N*0.5 abs(S) -S float(N) T.max().item()
    math.sqrt(N) S**2 T.argmax().item() round(S,1) math.exp(N) T.any().item() T.sum().item()*N S*T.shape[0]-N
    T.numel()/S T.mean().item()*2+S""".split()
BOLD_SCALARS = "float(T.sum()) int(T.sum()) T.tolist()[0] min(S,2.0) float(S) int(S) T.numpy().sum()".split()
TESTS = """N>2 N==3 N%2==0 T.dim()==2 T.shape[0]>T.shape[-1] T.dtype==torch.float32 N T.is_contiguous() isinstance(N,int)
    isinstance(T,torch.Tensor) T.shape==(3,4) len(T)>1 T.numel()>6 T.is_floating_point() T.shape[0]!=N N>=1~and~N<9 not~N
    N~in~(2,3) T.device.type=="cpu" T.shape[:1]==T.shape[1:] k=="sum" k=="mean"~or~N>3 isinstance(k,str)""".split()
TESTS = [test.replace("~", " ") for test in TESTS]
BOLD_TESTS = ["N<S", "S>0", "T.sum()>0", "T.any()", "T.isnan().any()"]


class Writer:
    """Writes one function, driven by a random source."""

    def __init__(self, choose: random.Random, program: Program) -> None:
        self.choose, self.lines = choose, ["def process(x, y, k):"]
        self.program, self.count = program, 0
        self.bold = choose.random() < BOLD

    def write(self, length: int) -> str:
        """The source of a function of up to so many statements."""
        for _ in range(length):
            self.attempt(self.statement(1), 1)
        self.lines.append(f"    return {self.result()}")
        return "\n".join(self.lines) + "\n"

    def attempt(self, block: list[str], depth: int) -> None:
        """Adds statements if the function still runs with them."""
        before = list(self.lines)
        self.lines += block
        if not self.runs():
            self.lines = before

    def runs(self) -> bool:
        """Whether the function so far runs on its example."""
        return self.environment() is not None

    def environment(self) -> dict[str, Any] | None:
        """The variables at the end of the function so far, or None where it fails."""
        source = "\n".join([*self.lines, "    return locals()"])
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = replace(self.program, source=source)
                function = program.function()
                found: dict[str, Any] = function(*program.inputs(3))
                spoilt = function.__globals__["CONST"]._version > 0  # such a function can only be refused
                return None if spoilt and not self.bold else found
        except Exception:
            return None

    # -- variables -----------------------------------------------------------------------------------------------

    def name(self, prefix: str) -> str:
        """A new variable."""
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self, kind: type | tuple[type, ...], other: str) -> str:
        """A variable of a kind, the newer the likelier."""
        scope = self.environment() or {}
        names = [n for n, v in scope.items() if isinstance(v, kind) and (kind is bool or not isinstance(v, bool))]
        if not names:
            return other
        return names[max(self.choose.randrange(len(names)), self.choose.randrange(len(names)))]

    def tensor(self) -> str:
        """A tensor variable."""
        return "CONST" if self.choose.random() < 0.03 else self.pick(torch.Tensor, "x")

    def fill(self, template: str) -> str:
        """A template with variables in place of its capitals."""
        out, tensor = template, self.tensor()
        for word, value in (
            ("OTHER", self.tensor), ("MASK", lambda: f"({tensor} > 0)"), ("INDEX", lambda: f"{tensor}.argmax(0)"),
        ):  # fmt: skip
            out = out.replace(word, value()) if word in out else out
        out = _capital(out, "N", lambda: self.pick(int, "x.shape[0]"))
        out = _capital(out, "S", lambda: self.pick(float, "0.5"))
        return _capital(out, "T", lambda: tensor).replace("self", tensor)

    # -- statements ----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> list[str]:
        """A statement, perhaps a block."""
        kinds: list[tuple[int, Callable[[int], list[str]]]] = [
            (6, self.unary), (5, self.view), (5, self.slice), (6, self.binary), (4, self.inplace), (4, self.store),
            (5, self.size), (3, self.scalar), (3, self.use_size), (2, self.container), (2, self.two), (2, self.unpack),
            (1, self.augmented), (3, self.op), (2, self.random), (2, self.control), (1, self.text), (2, self.array),
        ]  # fmt: skip
        if depth < 3:
            kinds += [(3, self.branch), (3, self.loop), (1, self.inner)]
            kinds += [(1, self.caught)] if self.bold else []
        make = self.choose.choices([k for _, k in kinds], [w for w, _ in kinds])[0]
        pad = "    " * depth
        return [pad + line for line in make(depth)]

    def unary(self, _: int) -> list[str]:
        """A function of one tensor."""
        op = self.choose.choice(UNARY)
        call = op if "(" in op or op == "real" else op + "()"
        return [f"{self.name('t')} = {self.tensor()}.{call}"]

    def view(self, _: int) -> list[str]:
        """A view."""
        tensor = self.tensor()
        return [f"{self.name('v')} = {self.fill(tensor + '.' + self.choose.choice(VIEWS).replace('self', tensor))}"]

    def slice(self, _: int) -> list[str]:
        """Part of a tensor."""
        return [f"{self.name('s')} = {self.tensor()}{self.fill(self.choose.choice(SLICES))}"]

    def operand(self) -> str:
        """The right side of an operation."""
        return self.choose.choice(
            [self.tensor, self.tensor, lambda: self.pick((int, float), "2"), lambda: self.choose.choice(["2", "0.5"]),
             lambda: "k"]
        )()  # fmt: skip

    def binary(self, _: int) -> list[str]:
        """A Python operator."""
        left, right = self.tensor(), self.operand()
        if self.choose.random() < 0.2:
            left, right = right, left
        return [f"{self.name('t')} = {left} {self.choose.choice(BINARY)} {right}"]

    def two(self, _: int) -> list[str]:
        """A function of two tensors."""
        a, b = self.tensor(), self.tensor()
        special = {
            "torch.where_": f"torch.where({a} > 0, {a}, {b})", "torch.cat_": f"torch.cat([{a}, {b}])",
            "torch.stack_": f"torch.stack(({a}, {b}), -1)", "torch.lerp_": f"torch.lerp({a}, {b}, 0.3)",
            "torch.broadcast_tensors_": f"torch.broadcast_tensors({a}, {b})[0]",
            "torch.add_alpha_": f"torch.add({a}, {b}, alpha=2)", "torch.allclose_": f"torch.allclose({a}, {b})",
        }  # fmt: skip
        op = self.choose.choice(TWO)
        return [f"{self.name('t')} = {special.get(op, f'{op}({a}, {b})')}"]

    def inplace(self, _: int) -> list[str]:
        """A method that writes."""
        return [f"{self.tensor()}.{self.fill(self.choose.choice(INPLACE))}"]

    def augmented(self, _: int) -> list[str]:
        """An augmented assignment, to a tensor, a part of it or a number."""
        target = self.choose.choice([self.tensor(), self.tensor() + self.fill(self.choose.choice(SLICES))])
        return [f"{target} {self.choose.choice(['+=', '*=', '-='])} {self.operand()}"]

    def store(self, _: int) -> list[str]:
        """A write into a part of a tensor."""
        return [f"{self.tensor()}{self.fill(self.choose.choice(SLICES))} = {self.operand()}"]

    def size(self, _: int) -> list[str]:
        """A size or arithmetic on sizes."""
        return [f"{self.name('n')} = {self.fill(self.choose.choice(SIZES))}"]

    def scalar(self, _: int) -> list[str]:
        """A number read off a tensor, or arithmetic on such."""
        known = SCALARS + BOLD_SCALARS if self.bold else SCALARS
        return [f"{self.name('f')} = {self.fill(self.choose.choice(known))}"]

    def use_size(self, _: int) -> list[str]:
        """A tensor made with a size or a number."""
        n, t = self.pick(int, "2"), self.tensor()
        made = [
            f"torch.arange({n})", f"torch.zeros({n}, 2)", f"torch.full(({n},), 0.5)", f"{t}.new_ones({n})", f"torch.eye({n})",
            f"torch.tensor([{n}, 1])", f"torch.tensor({n})", f"torch.ones({t}.shape)", f"torch.linspace(0, 1, {n})",
            f"torch.zeros_like({t})", f"{t}.repeat({n}, 1)", f"torch.full_like({t}, {n})", f"{t} * {n}",
            f"torch.tensor({self.pick(float, '1.5')})", f"torch.empty({n}).fill_(1)", f"{t}.expand({n}, -1)",
            f"torch.tensor([[1.0, {n}]])", f"torch.nn.functional.pad({t}, (0, {n}))", f"torch.nn.functional.one_hot({t}.long() % 3, 3)",
            f"torch.as_tensor([{n}])", f"{t}[:{n}]", f"{t}.narrow(0, 0, {n})",
        ]  # fmt: skip
        made += ["torch.randn(2)"] if self.bold else []
        return [f"{self.name('t')} = {self.choose.choice(made)}"]

    def container(self, _: int) -> list[str]:
        """A list or a dict of tensors, used at once."""
        name, a, b, n = self.name("c"), self.tensor(), self.tensor(), self.pick(int, "2")
        made = [
            [f"{name} = [{a}, {b}]", f"{name}.append({a} + 1)", f"{name}0 = {name}[-1]"],
            [f"{name} = {{'a': {a}, f'k{{{n}}}': {b}}}", f"{name}0 = {name}['a'] * 2"],
            [f"{name} = tuple(r * 2 for r in {a})", f"{name}0 = torch.stack({name})"],
            [f"{name} = [{a}[i] for i in range(len({a}))]", f"{name}0 = sum({name})"],
            [f"{name} = {{i: r for i, r in enumerate({a})}}", f"{name}0 = {name}[0]"],
            [f"{name} = sorted([{n}, 2, 1])", f"{name}0 = {a} * {name}[0]"],
            [f"{name} = [*{a}]", f"{name}0 = {name}[0]"],
            [f"{name} = list(zip({a}, {b}))", f"{name}0 = {name}[0][0] + {name}[-1][1]"],
            [f"{name} = dict(a={a}, n={n})", f"{name}0 = {name}.get('n')"],
        ]
        return self.choose.choice(made)

    def unpack(self, _: int) -> list[str]:
        """A function with several results."""
        a, b, tensor = self.name("u"), self.name("u"), self.tensor()
        made = [
            f"{tensor}.max(-1)", f"{tensor}.chunk(2)", f"{tensor}.sort(0)", f"torch.aminmax({tensor})", f"{tensor}.shape",
            f"{tensor}.split([1, 2])", f"{tensor}.topk(1)", f"({tensor}, {self.tensor()})", f"torch.var_mean({tensor})",
            f"{tensor}.unbind(-1)[:2]", f"{tensor}.unique(return_inverse=True)", f"{tensor}.mode()",
        ]  # fmt: skip
        return [f"{a}, {b} = {self.choose.choice(made)}"]

    def op(self, _: int) -> list[str]:
        """The call of a scripted op, on a part of its result at times."""
        a, b, name = self.tensor(), self.tensor(), self.name("o")
        made = [
            [f"{name} = affine({a})"], [f"{name} = mixed({a}, {b})"], [f"{name} = mixed(b={b}, a={a})"],
            [f"{name} = scored({a}[..., :4])"], [f"{name} = scored({a}, scale=2.0)"],
            [f"{name}d = parts({a})", f"{name} = {name}d['sum']", f"{name}l = list({name}d['parts'])[0]"],
            [f"{name} = [affine(r) for r in {a}][-1]"], [f"{name} = {a}", f"{name} += affine({b})"],
            [f"{name} = affine(affine({a}) + {b})"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def random(self, _: int) -> list[str]:
        """Random numbers from a generator that is seeded here, so that every run draws alike."""
        source, name, n, t = self.name("g"), self.name("t"), self.pick(int, "2"), self.tensor()
        made = [
            [f"{name} = torch.randn({n}, 2, generator={source})"], [f"{name} = torch.randperm({n}, generator={source})"],
            [f"{name} = torch.rand({t}.shape, generator={source})"],
            [f"{name} = torch.bernoulli({t}.sigmoid(), generator={source})"],
            [f"{name} = torch.randint(0, 9, (2, {n}), generator={source})"],
            [f"{name} = {t} * 1.0", f"{name}.normal_(generator={source})"],
            [f"with drawing({source}):", f"    {name} = torch.randn_like({t} * 1.0) + torch.rand(())"],
            [f"with drawing({source}):", f"    {name} = torch.nn.functional.dropout({t} * 1.0, 0.4)"],
            [f"{name} = {t} * 1.0", f"for i in range({n} % 3):", f"    with drawing({source}):",
             f"        {name} = {name} + torch.randn(2, 1).sum()"],
        ]  # fmt: skip
        return [f"{source} = torch.Generator().manual_seed({self.choose.randrange(9)})", *self.choose.choice(made)]

    def control(self, _: int) -> list[str]:
        """A choice or a loop that data decides, as `cond` and `while_loop` record it."""
        name, a, b, c = self.name("w"), self.tensor(), self.tensor(), self.tensor()
        test = self.fill(
            self.choose.choice(["T.sum() > 0", "T.any()", "(T > 0).all()", "S > 0", "N > 2", "T.sum().item() > N"])
        )
        made = [
            [f"{name} = cond({test}, lambda v: v + 1, lambda v: v * 2, {a})"],
            [f"{name} = cond({test}, lambda v: v + {b}, lambda v: v - {b}, {a})"],
            [f"{name}, {name}n = cond({test}, lambda v, n: (v * n, n), lambda v, n: (v, n + 1), {a}, {self.pick(int, '2')})"],
            [f"{name} = cond({test}, lambda: {a} + 1, lambda: {a} - 1)"],
            [f"{name} = cond({test}, lambda v: affine(v), lambda v: v * 2 - 1, {a})"],
            [f"{name} = cond({test}, lambda v: cond({c}.any(), lambda u: u * 3, lambda u: u + 3, v), lambda v: v * 5, {a})"],
            [f"{name} = while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), torch.tensor(0), {a})[1]"],
            [f"{name} = while_loop(lambda v: (v.sum() < 40) & (v.numel() > 0), lambda v: v.abs() * 2 + 1, {a} * 1.0)"],
            [f"{name} = while_loop(lambda v: v.numel() > 2, lambda v: v[1:], {a}.flatten())"],
            [f"{name} = while_loop(lambda i, v: i < {self.pick(int, '2')}, lambda i, v: (i + 1, v + {b}.sum()), 0, {a} * 1.0)[1]"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def text(self, _: int) -> list[str]:
        """Strings: names made of numbers and of the argument k."""
        name, a, n = self.name("c"), self.tensor(), self.pick(int, "2")
        made = [
            [f"{name} = {{f'{{k}}': {a}, 'n': {n}}}"], [f"{name} = {{f'row{{i}}': r for i, r in enumerate({a})}}"],
            [f"{name} = {{str({n}): {a}, '%d-%s' % ({n}, k): {a} + 1}}"], [f"{name} = f'{{{n}:03d}}' + str(len({a}))"],
            [f"{name} = getattr(torch, 'sum' if k == 'sum' else 'mean')({a} * 1.0)"],
            [f"{name} = '-'.join(k) if isinstance(k, list) else 'none'"], [f"{name} = len(k) if isinstance(k, list) else 0"],
            [f"{name} = [w.upper() for w in k] if isinstance(k, list) else [{a}]"],
            [f"{name} = {{'a': {a}, 'b': {n}}}", f"{name}0 = {name}['ab'[{n} % 2]]"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def array(self, _: int) -> list[str]:
        """numpy on a tensor or an array, and the way back."""
        name, t, n = self.name("a"), self.tensor(), self.pick(int, "2")
        a = self.pick(np.ndarray, f"{t}.numpy()") if self.choose.random() < 0.5 else f"{t}.numpy()"
        made = [
            [f"{name} = {a}"], [f"{name} = np.tanh({a})"], [f"{name} = np.maximum({a}, {t}.numpy())"], [f"{name} = {a}.sum(axis=-1)"],
            [f"{name} = np.clip({a}, -1, 1)"], [f"{name} = {a}.astype(np.float32) - 0.5"], [f"{name} = np.concatenate([{a}, {a}])"],
            [f"{name} = torch.from_numpy({a} * 2)"], [f"{name} = torch.as_tensor({a})[..., :1]"], [f"{name} = {a}.T"],
            [f"{name} = {a}.copy()", f"{name}[0] = 7", f"{name} *= 2"], [f"{name} = np.where({a} > 0, {a}, 0)"],
            [f"{name} = {a}.mean().item() * {n}"], [f"{name} = {a}.reshape(-1)[:{n}]"], [f"{name} = np.full({n}, 0.5) + {a}.max()"],
            [f"{name} = np.stack([r * 2 for r in {a}])"], [f"{name} = np.sort({a}, axis=0)[::-1]"], [f"{a}[..., 0] = {n}"],
            [f"{name} = {t} * torch.from_numpy(np.arange({n}, dtype=np.float32)).sum()"], [f"{name} = {a}.shape[0] * {t}"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def block(self, depth: int) -> list[str]:
        """Statements of an inner block, relative to it."""
        pad = "    " * (depth + 1)
        found: list[str] = []
        for _ in range(self.choose.randint(1, 2)):
            found += [line.removeprefix(pad) for line in self.statement(depth + 1)]
        return ["    " + line for line in found]

    def branch(self, depth: int) -> list[str]:
        """A branch, on sizes mostly."""
        known = TESTS + BOLD_TESTS if self.bold else TESTS
        test, tensor, name = self.fill(self.choose.choice(known)), self.tensor(), self.name("b")
        sides = [f"if {test}:", f"    {name} = {tensor} + 1", *self.block(depth), "else:", f"    {name} = {tensor} * 3"]
        return sides + (self.block(depth) if self.choose.random() < 0.4 else [])

    def loop(self, depth: int) -> list[str]:
        """A loop over numbers, rows or sizes."""
        name, tensor = self.name("a"), self.tensor()
        over = self.choose.choice(
            [f"range({self.pick(int, '2')} % 5)", f"range({tensor}.shape[0] % 6)", "range(3)", f"{tensor}.unbind(0)[:3]", f"{tensor}[:3]",
             f"enumerate({tensor})", f"zip({tensor}, {self.tensor()})", f"{tensor}.shape", "torch.arange(2)"]
        )  # fmt: skip
        step = self.choose.choice(
            [f"{name} = {name} + 1", f"{name} = {name} * i", f"{name} += i", f"{name} = {tensor}[i]"]
        )
        return [f"{name} = {self.tensor()}", f"for i in {over}:", f"    {step}", *self.block(depth)]

    def caught(self, depth: int) -> list[str]:
        """A block whose errors are caught."""
        name = self.name("e")
        return [f"{name} = x", "try:", *self.block(depth), "except Exception:", f"    {name} = x + 1"]

    def inner(self, depth: int) -> list[str]:
        """A function inside, called on a tensor."""
        name, tensor = self.name("h"), self.tensor()
        return [f"def {name}(a, b=2):", f"    return a * b + {tensor}.sum()", f"{name}r = {name}({self.tensor()})"]

    def result(self) -> str:
        """What is returned: some variables in some container."""
        scope = self.environment() or {}
        kinds = (torch.Tensor, np.ndarray, int, float, bool, str)
        names = [
            n for n, v in scope.items() if isinstance(v, kinds) or (isinstance(v, list | dict | tuple) and _plain(v))
        ]
        count = min(len(names), self.choose.randint(1, 5))
        chosen = [*self.choose.sample(names, count), *names[-2:]]
        items = ", ".join(chosen) or "x"
        named = "{" + ", ".join(f"'{name}': {name}" for name in chosen) + "}"
        first, last = (chosen[0], chosen[-1]) if chosen else ("x", "y")
        return self.choose.choice([
            f"({items},)", f"[{items}]", named, f"({items},)", f"Pair({first}, [{items}])", f"Pair(second={named}, first={last})",
            f"{{'all': ({items},), 'by name': {named}, 3: [Pair({first}, {last})]}}", f"{{f'out{{x.shape[1]}}': {first}, 'k': k}}", first,
        ])  # fmt: skip


def _plain(tree: Any) -> bool:
    items = tree.values() if isinstance(tree, dict) else tree
    return all(isinstance(item, torch.Tensor | int | float) for item in items)


def _capital(text: str, letter: str, value: Callable[[], str]) -> str:
    """The text with a lone capital letter replaced; every place gets the same value."""
    pattern = rf"(?<![\w.]){letter}(?!\w)"
    if not re.search(pattern, text):
        return text
    found = value()
    return re.sub(pattern, lambda _: found, text)
