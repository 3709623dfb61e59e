"""Statements on what surrounds values in torch and numpy: default dtypes, strides, models with state, odd arrays."""

from __future__ import annotations

import numpy as np

from tests.campaigns.functions.scope import Scope


class TorchStatements(Scope):
    """Writes statements whose answer hangs on more than values."""

    def default(self, _: int) -> list[str]:
        """Tensors whose dtype is torch's default, at the time of the call."""
        name, a, n = self.name("t"), self.tensor(), self.pick(int, "2")
        made = [
            f"torch.zeros({n})", "torch.ones(2)", "torch.tensor(0.5)", f"torch.tensor([1.5, {n}])", "torch.arange(0.5, 3)", f"{a}.long() / 2",
            f"{a}.long().sqrt()", f"{a}.to(torch.get_default_dtype())", "torch.full((2,), 0.5)", "torch.linspace(0, 1, 3)", f"{a}.long() * 0.5",
            f"torch.where({a} > 0, 1.0, 0.0)", "torch.scalar_tensor(1.5)", "torch.eye(2)", f"({a} > 0) * 1.5", "torch.as_tensor(0.5)",
            f"torch.from_numpy(np.zeros({n}))", f"means({a})", f"halves({a})", f"{a} + torch.zeros(1)", f"{a} * torch.tensor(2.5)", f"{a}.long().mean(dtype=torch.float32)",
            f"torch.full_like({a}, 0.5)", f"{a}.new_zeros(2)", "torch.complex(torch.ones(2), torch.zeros(2))", "torch.hann_window(4)[:1]", f"torch.logspace(0, 1, {n})",
            f"cond({a}.sum() > 0, lambda i: i.long() * 0.5, lambda i: i.long() * 1.5, {a})", "torch.tensor(1j)", f"{a}.long().sin()", f"{a}.long() ** 0.5", f"{a}.long() / {n}",
        ]  # fmt: skip
        bold = [
            ["torch.set_default_dtype(torch.float64)", f"{name} = {a} / 2", "torch.set_default_dtype(torch.float32)"]
        ]
        if self.bold and self.choose.random() < 0.1:
            return self.choose.choice(bold)
        return [f"{name} = {self.choose.choice(made)}"]

    def layout(self, _: int) -> list[str]:
        """Strides, and writes whose reach they decide."""
        name, a, b = self.name("v"), self.tensor(), self.tensor()
        made = [
            [f"{name} = {a} * 2 if {a}.is_contiguous() else {a} * 3"], [f"{name} = {a} * {a}.stride(0)"], [f"{name} = {a}.stride()"], [f"{name} = {a} + {a}.stride(-1)"],
            [f"{name} = {a}.contiguous()", f"{name}.add_(1)"], [f"{name} = {a}.reshape(-1)", f"{name}.add_(1)"], [f"{name} = {a}.flatten()", f"{name}[0] = 5"],
            [f"{name} = {a}.t().contiguous()", f"{name}.mul_(2)"], [f"{name} = {a}.float()", f"{name}.add_(1)"], [f"{name} = {a}.to({b}.dtype)", f"{name}.mul_(3)"],
            [f"{name} = {a}.detach()", f"{name}.neg_()"], [f"{name} = {a}.ravel()", f"{name} += 1"], [f"{name} = torch.as_tensor({a})", f"{name}.sub_(1)"],
            [f"{name} = asks({a})"], [f"{name} = strides({a})"], [f"{name} = inner({a})"], [f"{name} = flat({a})"], [f"{name} = images({a})"], [f"{name} = outer({a})"],
            [f"{name} = asks({a}.t())"], [f"{name} = strides({a}[::2])"], [f"{name} = inner({a}.t())"], [f"{name} = flat({a}[:1].expand(3, -1))"], [f"{name} = asks({a}[:, :1].expand(-1, 2))"],
            [f"{name} = {a}[None, None].to(memory_format=torch.channels_last)"], [f"{name} = {a}[None, None].expand(2, 3, -1, -1).contiguous(memory_format=torch.channels_last)", f"{name}0 = {name}.is_contiguous(memory_format=torch.channels_last)"],
            [f"{name} = {a}[None, :, :, None].to(memory_format=torch.channels_last) * 2", f"{name}0 = {name}.stride()"], [f"{name} = torch.empty_like({a}).stride()"],
            [f"{name} = {a}.clone(memory_format=torch.contiguous_format)"], [f"{name} = ({a} + {b}).stride()"], [f"{name} = {a}.t() + 1", f"{name}0 = {name}.is_contiguous()"],
            [f"{name} = torch.zeros_like({a}.t())", f"{name}0 = {name}.stride(0)"], [f"{name} = {a}._is_view()"], [f"{name} = {a}.is_set_to({b})"], [f"{name} = {a}.squeeze().is_contiguous()"],
            [f"{name} = {a}.narrow(0, 0, 1).expand(3, -1)", f"{name}0 = {name} + 1"], [f"{name} = {a}.unsqueeze(0).is_contiguous()"], [f"{name} = torch.stack([{a}, {a}], -1)[..., 0]", f"{name}0 = {name}.reshape(-1)", f"{name}0 += 1"],
            [f"{name} = {a}.numpy().strides"], [f"{name} = {a}.numpy().flags.c_contiguous"], [f"{name} = torch.atleast_2d({a})", f"{name} += 1"], [f"{name} = {a}.data", f"{name}.mul_(2)"],
            [f"{name} = {a}.view_as({a}).add_(1)"], [f"{name} = {a}.as_strided((2,), (1,))", f"{name}.add_(1)"], [f"{name} = torch.einsum('ij->ji', {a})", f"{name} *= 2"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def model(self, _: int) -> list[str]:
        """Models that keep something from call to call, or leave something beside their result."""
        name, a = self.name("o"), self.tensor()
        made = [
            [f"{name} = counts({a})"], [f"{name} = averages({a})"], [f"{name} = sums({a})"], [f"{name} = counts({a})", f"{name} = {name} + counts({a})"],
            ["for i in range(2):", f"    {name} = averages({a} * i)"], [f"{name} = cond({a}.sum() > 0, lambda v: v * 2, lambda v: v * 3, sums({a}))"],
            [f"{name} = signs({a})"], [f"{name} = blocks({a})"], [f"{name} = scripted({a}, {self.tensor()})"], [f"{name} = unpacked({a})"], [f"{name} = Straight.apply({a})"],
            [f"{name} = jitted({a})"], [f"{name} = signs(counts({a}))"], ["with torch.no_grad():", f"    {name} = blocks({a})"], [f"{name} = {a} * Straight.apply({a} * 1.5)"],
        ]  # fmt: skip
        bold = [
            [f"{name} = hooked({a})", f"{name}0 = seen['out'] + 1"], [f"{name} = leaving({a})", f"{name}0 = models['leaving'].last - 1"], [f"{name} = spoils({a})"],
            [f"{name} = plainly({a})"], [f"{name} = {a} * rows({a})"], [f"{name} = seen['out'] * 1", f"{name}0 = hooked({a})"], [f"{name} = counts({a})", f"{name}0 = models['counts'].runs * 1"],
        ]  # fmt: skip
        return self.choose.choice(bold if self.bold and self.choose.random() < 0.5 else made)

    def odd_array(self, _: int) -> list[str]:
        """numpy's other kinds: subclasses, reversed views, error states, scalars, arrays made anew."""
        name, t, n = self.name("a"), self.tensor(), self.pick(int, "2")
        a = self.pick(np.ndarray, f"{t}.numpy()") if self.choose.random() < 0.5 else f"{t}.numpy()"
        made = [
            [f"{name} = {a}[::-1]", f"{name}[0] = 7"], [f"{name} = {a}[::-1].copy()"], [f"{name} = torch.from_numpy({a}[::-1].copy())"], [f"{name} = {a}[:, ::-1] + 1"], [f"{name} = np.flip({a}, 0) * 2"],
            [f"{name} = {a} * np.sum([x.shape[0], {n}])"], [f"{name} = {a} + np.prod({t}.shape)"], [f"{name} = torch.from_numpy(np.zeros({n}, np.float32))", f"{name} += 1"],
            [f"{name} = torch.from_numpy(np.ones(3))", f"{name}.mul_({n})"], ["with np.errstate(all='ignore'):", f"    {name} = 1 / {a}"], [f"{name} = {a} * np.float32(2.5)"], [f"{name} = np.float64({n}) * {a}"],
            [f"{name} = {a} * np.int64({n})"], [f"{name} = {a} + np.array([{n}])"], [f"{name} = np.broadcast_to({a}, (2, *{a}.shape)) + 1"], [f"{name} = np.add.reduce({a})"], [f"{name} = np.maximum.accumulate({a}, axis=0)"],
            [f"{name} = np.empty_like({a})", f"np.multiply({a}, 2, out={name})"], [f"{name} = {a}.T.copy()", f"{name}[::2] = 1"], [f"{name} = np.asarray({a}, dtype=np.float64) ** -1.0"], [f"{name} = {a}[{a} > 0].sum()"],
            [f"{name} = (-1) ** {n} * {a}"], [f"{name} = np.arange({n})[::-1] * -2"], [f"{name} = {a}.view(np.int32)"], [f"{name} = np.rollaxis({a}, -1)"], [f"{name} = {a}.ravel()", f"{name}[-1] = -3"], [f"{name} = {a}.reshape(-1, order='F')"],
            [f"{name} = {a}.swapaxes(0, -1)", f"{name} += 1"], [f"{name} = np.ascontiguousarray({a}.T)", f"{name} *= 2"], [f"{name} = np.squeeze({a})", f"{name} -= 1"], [f"{name} = {a}[..., None] - {a}[..., None].mean(0)"],
            [f"{name} = {a}.tolist()[0]" if self.bold else f"{name} = {a}.max().item()"], [f"{name} = np.where({a} > 0, -1, 1) * {n}"], [f"{name} = np.linspace(-1, 1, {n})"], [f"{name} = {a}.dtype == np.float32", f"{name}0 = {a}.ndim * {n}"],
        ]  # fmt: skip
        bold = [
            [f"{name} = torch.from_numpy(np.asarray(np.ma.masked_array({a}, {a} > 0).sum(0)))"], [f"{name} = torch.from_numpy(np.asarray({a} * np.matrix(np.eye(4, dtype=np.float32))))"], [f"{name} = np.ma.masked_array({a}, {a} > 0).filled(0)"],
            ["with np.errstate(divide='raise'):", f"    {name} = 1 / {a}"], [f"{name} = {a}.view(np.matrix)"], [f"{name} = np.rec.array({a})"], [f"{name} = np.ma.array({a}).mean()"], [f"{name} = [v for v in {a}.flat][0]"],
        ]  # fmt: skip
        return self.choose.choice(bold if self.bold and self.choose.random() < 0.5 else made)

    def grad_mode(self, _: int) -> list[str]:
        """Blocks in which gradients are on or off, and what asks for them."""
        name, a, b = self.name("t"), self.tensor(), self.tensor()
        made = [
            ["with torch.no_grad():", f"    {name} = {a} * 2"], ["with torch.enable_grad():", f"    {name} = {a} * 2"], ["with torch.set_grad_enabled(False):", f"    {name} = {a} * 3"],
            ["with torch.no_grad():", f"    {name}s = {a} + 1", "    with torch.enable_grad():", f"        {name} = {a} * 5"], [f"{name} = {a}.detach() * {a}"], [f"{name} = {a} + {a}.data"],
            ["@torch.no_grad()", f"def {name}f(v):", "    return v * 3", f"{name} = {name}f({a}) * {a}"], ["with torch.inference_mode():", f"    {name}s = float(2) * {a}.shape[0]", f"{name} = {a} * {name}s"],
            ["with torch.no_grad():", f"    {name} = {a} * 1.5", f"    {name}.mul_({a})"], [f"{name} = {a}.clone()", "with torch.no_grad():", f"    {name}.mul_(2)"],
            [f"{name} = {a} * 1.0", f"{name}[0] = {b} if {b}.dim() == 0 else {b}[0]"], [f"{name} = {a} * 2.0", f"{name}.detach_()"], [f"{name} = torch.where({a} > 0, {a}, {b}.detach())"],
            [f"{name} = cond({a}.sum() > 0, lambda v: v * 3, lambda v: v.detach() * v, {b})"], ["with torch.no_grad():", f"    {name} = cond({a}.sum() > 0, lambda v: v * 3, lambda v: v + 1, {b})"],
            [f"{name} = while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * {b}.sum()), 0, {a} * 1.0)[1]"], [f"{name} = scored({a}) * {b}.mean()"], [f"{name} = {a} / {a}.detach().abs().max()"],
            [f"{name} = {a} * (2 if {a}.requires_grad else 3)"],
            ["with torch.no_grad():", f"    {name}m = {a}.mean()", f"{name} = ({a} - {name}m) * {b}"], [f"{name} = {a}.expand_as({a}).clone().relu_()"], [f"{name} = blocks({a}) + affine({b})"],
        ]  # fmt: skip
        if self.bold:
            made += [
                [f"{name} = {a} * (2 if torch.is_grad_enabled() else 3)"],
                [f"{name} = {a} * (2 if {a}.is_leaf else 3)"],
                [f"{name} = Straight.apply({a} * 2)"],
                [f"{name} = {a}.grad_fn is None"],
                [f"{name} = {a} * {a}.requires_grad"],
            ]
        return self.choose.choice(made)
