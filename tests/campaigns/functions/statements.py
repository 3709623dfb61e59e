"""Statements of one line or a few: tensors, writes, sizes, numbers, containers, ops, random numbers, strings, arrays."""

from __future__ import annotations

import numpy as np

from tests.campaigns.functions.scope import Scope
from tests.campaigns.functions.words import BINARY, BOLD_SCALARS, INPLACE, SCALARS, SIZES, SLICES, TWO, UNARY, VIEWS


class Statements(Scope):
    """Writes statements without a block."""

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
