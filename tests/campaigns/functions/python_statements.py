"""Statements on Python's own objects: state, identity, threads, literals, containers, side effects."""

from __future__ import annotations

from tests.campaigns.functions.scope import Scope
from tests.campaigns.functions.words import LITERALS, OF_LITERALS, OF_NUMBERS


class PythonStatements(Scope):
    """Writes statements that no operator of torch does."""

    def state(self, _: int) -> list[str]:
        """What a call leaves for the next one: notes, caches, settings; counters where it may be refused."""
        name, a, n = self.name("t"), self.tensor(), self.pick(int, "2")
        made = [
            ["state.calls += 1"], [f"state.seen.append({a}.shape)"], [f"state.last = {a}"], [f"state.table['last'] = {n}"],
            ["if state.known is None or state.known.shape[0] < x.shape[0]:", "    state.known = torch.arange(x.shape[0]).float()",
             f"{name} = state.known[:x.shape[0]] * 2"],
            ["if state.scale is None:", "    state.scale = math.sqrt(2)", f"{name} = {a} * state.scale"],
            [f"{name} = {a} * state.factor"], [f"{name} = len(state.table)"], [f"state.n = {n}", f"{name} = {a} + state.n"],
            ["if 'eye' not in state.table:", "    state.table['eye'] = torch.eye(3)", f"{name} = state.table['eye'] * 2"],
            ["state.seen.clear()", f"state.seen.append({a} + 1)", f"{name} = state.seen[-1]"],
            [f"{name} = {a} - state.total"], [f"state.last = {a} * 2", f"{name} = state.last + 1"],
        ]  # fmt: skip
        bold = [
            ["state.n += x.shape[1]", f"{name} = {a} * state.n"], ["state.calls += 1", f"{name} = {a} * (2 if state.calls > 3 else 3)"],
            [f"state.mean = 0.9 * state.mean + 0.1 * {a}.double().mean().item()", f"{name} = {a} - state.mean"],
            [f"state.mean += float({a}.double().abs().mean())", f"{name} = {a} * state.mean"],
            ["if state.first is None:", f"    state.first = float({a}.abs().max())", f"{name} = {a} * state.first"],
            ["state.array = state.array + x.shape[0]", f"{name} = {a} + torch.from_numpy(state.array).sum()"],
            ["state.array += 1", f"{name} = {a} * torch.from_numpy(state.array)[0]"], [f"state.total.add_({a}.double().mean())", f"{name} = {a} - state.total"],
            [f"state.seen.append({n})", f"{name} = {a} * len(state.seen)"], [f"{name} = {a} if state.last is None else {a} + state.last", f"state.last = {a}"],
            ["if x.shape[0] not in state.table:", f"    state.table[x.shape[0]] = {a}.sum()", f"{name} = state.table[x.shape[0]] + 1"],
            [f"{name} = getattr(process, 'taken', 1) * {a}", "process.taken = 2"],
        ]  # fmt: skip
        return self.choose.choice(bold if self.bold and self.choose.random() < 0.5 else made)

    def identity(self, _: int) -> list[str]:
        """Tests that ask which object something is, or which type it has."""
        name, a = self.name("t"), self.tensor()
        n, s = self.pick(int, "2"), self.pick(float, "0.5")
        made = [
            f"{a} * (2 if k is True else 3)", f"{a} * (2 if k is not False else 3)", f"{a} * (2 if type(k) is int else 3)",
            f"{a} * kind_of(k)", f"{a} + kind_of({n})", f"{a} * looked_up({n})", f"{a} * looked_up(k)", f"{a} - told(k)",
            f"{a} * told(({n} > 2))", f"{a} * (2 if ({n} > 2) is True else 3)", f"{a} * options.factor(k)",
            f"{a} * (2 if {n} is ZERO else 3)", f"{a} * (2 if x is y else 3)", f"{a} * (2 if {a}.dtype is torch.float32 else 3)",
            f"{a} * (2 if type({n}) is int else 3)", f"{a} * (2 if type({s}) is float else 3)", f"{a} * (2 if k is None else 3)",
            f"{a} * {{int: 2, float: 3, bool: 4}}.get(type(k), 5)", f"{a} * {{int: 2}}.get(type({n}), 5)", f"type({a}) is torch.Tensor",
            f"{a} * (2 if isinstance({n}, int) and not isinstance(k, bool) else 3)", "type(k).__name__", f"{a} * len({{type({n}), type(k)}})",
            f"{a} * (2 if k in (True, 'sum') else 3)", f"{a} * (2 if {n} == True else 3)", f"{a} * (2 if [{a}][0] is {a} else 3)",
            f"{a} * (2 if x.requires_grad else 3)",
        ]  # fmt: skip
        bold = [
            f"{a} * (2 if torch.is_grad_enabled() else 3)", f"{a} * (2 if {a}._version else 3)", f"{a}.is_leaf",
            f"{a} * (2 if ({a} > 0).any().item() is True else 3)", f"{a} * (2 if {a}.sum().item() is None else 3)",
            f"{a} * told(({a} > 0).all().item())", f"{a} * kind_of({a}.sum().item())", "id(k) % 2", f"hash({n}) % 7",
        ]  # fmt: skip
        return [f"{name} = {self.choose.choice(made + bold if self.bold else made)}"]

    def thread(self, _: int) -> list[str]:
        """Work that another thread does; it can only be refused."""
        name, a = self.name("t"), self.tensor()
        made = [
            f"{a} * POOL.submit(lambda: {a}.shape[0]).result()", f"{a} * next(iter(POOL.map(lambda t: t.shape[0], [{a}])))",
            f"{a} * 2 if POOL.submit(lambda: bool(({a} > 0).any())).result() else {a}", f"POOL.submit(lambda: {a} * 2).result()",
            f"{a} * POOL.submit(len, [1, 2]).result()",
        ]  # fmt: skip
        return [f"{name} = {self.choose.choice(made)}"]

    def literal(self, _: int) -> list[str]:
        """A literal beside an operator, on a size, a number, a tensor, or what comes of them."""
        a, n, name = self.tensor(), self.pick((int, float), "x.shape[0]"), self.name("n")
        operator, literal = self.choose.choice(OF_LITERALS), self.choose.choice(LITERALS)
        sides = [n, literal] if self.choose.random() < 0.5 or "2**70" in literal else [literal, n]
        if "2**70" in literal and operator in ("**", "<<", ">>"):
            operator = "%"
        number = f"{sides[0]} {operator} {sides[1]}"
        if self.choose.random() < 0.4:
            return [f"{name} = {number}"]
        outer = self.choose.choice(
            ["{a} * ({n})", "{a} + {n}", "({n}) * {a}", "{a} - ({n})", "torch.full((2,), {n})", "-({n})", "{a} % ({n})",
             "({n}) - -1", "-1 - ({n})", "{a}.clamp(max={n})", "torch.add({a}, {n}, alpha=-2)", "abs({n}) ** 2"]
        )  # fmt: skip
        return [f"{name} = {outer.format(a=a, n=number)}"]

    def number(self, _: int) -> list[str]:
        """What Python does with numbers beside arithmetic."""
        return [f"{self.name('n')} = {self.fill(self.choose.choice(OF_NUMBERS))}"]

    def collection(self, _: int) -> list[str]:
        """Containers of Python: nested, in an order, with keys of all kinds."""
        name, a, b = self.name("c"), self.tensor(), self.tensor()
        n, m = self.pick(int, "2"), self.pick(int, "3")
        made = [
            [f"{name} = {{3: {a}, 1: {b}}}", f"{name}0 = list({name}.values())[0] * 2"], [f"{name} = {{**{{'b': {a}}}, 'a': {b}}}", f"{name}0 = [v * 2 for _, v in sorted({name}.items())]"],
            [f"{name} = sorted({{{n}, 2, 3}})"], [f"{name} = len({{{n}, 2, {m}}})"], [f"{name} = sum(range({n} % 7))"],
            [f"{name} = list(range({n} % 5))[::-1]"], [f"{name} = {a}[[i for i in range({n} % 3)]]"],
            [f"{name} = Swapped(second={a}, first={b})", f"{name}0 = {name}.first - {name}[0]"], [f"{name} = Pair(second={a}, first={n})._replace(first={b})"],
            [f"{name} = [[{a}, [{b}, ({n},)]], {{2: {{True: {a}}}}}]", f"{name}0 = {name}[1][2][True] + 1"], [f"{name} = {n} in range(2, 9, 2)"],
            [f"{name} = dict.fromkeys(['a', 'b'], {a})", f"{name}['a'] = {name}['a'] + 1"], [f"{name} = [{a}] * 2", f"{name}[0] = {name}[1] + 1"],
            [f"{name} = [{a}] * ({n} % 4)", f"{name}0 = len({name})"], [f"{name} = OrderedDict(a={a}, b={n})", f"{name}.move_to_end('a')"], [f"{name} = {{k: {a}}}"],
            [f"{name}, *{name}r = {a}.unbind(0)"], [f"{name} = (lambda *r, **kw: r[0] * kw['f'])({a}, f={n})"], [f"{name} = sum(r.sum() for r in {a})"],
            [f"{name} = functools.reduce(operator.add, [{a}, {b}, {n}])"], [f"{name} = list(map(lambda r: r * 2, {a}))[-1]"],
            [f"{name} = any(s > {n} for s in {a}.shape)"], [f"{name} = max({a}, {b}, key=lambda t: t.shape[0])"], [f"{name} = [s * 2 for s in {a}.shape if s != {n}]"],
            [f"{name} = ({name}w := {n} + 1) * {name}w"], [f"{name} = {{s: i for i, s in enumerate({a}.shape)}}"], [f"{name} = tuple(zip({a}.shape, [{a}, {b}]))"],
            [f"{name} = {a} * list(k.values())[0]", f"{name}0 = {a} + sum(k.values())"], [f"{name} = {a} * k[1]"], [f"{name} = {a} * k['a']", f"{name}0 = [v * 2 for v in k.values()]"],
            [f"{name} = {a} * k.first - k[1]"], [f"{name} = {{key: {a} * v for key, v in k.items()}}"], [f"{name} = {a} * (k['b'] if 'b' in k else 1)"], [f"{name}, {name}r = k", f"{name}0 = {a} * {name}"],
            [f"{name} = list(k)"], [f"{name} = {a} * len(k)"], [f"{name} = k", f"{name}0 = {a} * 2"], [f"{name} = {{**k, 'more': {a}}}"], [f"{name} = {a} * k[1][1]"], [f"{name} = [*k, {n}]"],
            ["match k:", "    case bool():", f"        {name} = {a}", "    case int() | float():", f"        {name} = {a} * k", "    case _:", f"        {name} = {b}"],
            [f"match {a}.shape:", "    case (r, c):", f"        {name} = r * c", "    case _:", f"        {name} = 1"],
            [f"{name} = [{n}, {m}]", f"{name}.sort()", f"{name}.insert(0, 1)", f"{name}0 = {a} * {name}.pop()"], [f"{name} = {{'a': [{a}]}}", f"{name}['a'] += [{b}]", f"{name}0 = {name}.setdefault('b', {n})"],
            [f"{name} = {{True: {a}, 2: {n}}}", f"{name}0 = {name}[{n} > 0]" if self.bold else f"{name}0 = {name}[2]"], [f"{name} = frozenset({a}.shape)", f"{name}0 = len({name} & {{1, 3}})"],
            [f"{name} = []", f"for i, r in enumerate({a}):", f"    {name} += [r * i] if i % 2 else []", f"{name}0 = len({name})"], [f"{name} = bytes([2, 3])[0] * {a}"],
            ["try:", f"    {name} = {a} * 2", "finally:", f"    {name}0 = {n}"], [f"{name} = {a} if not {n} else {b}"], [f"{name} = ({n}, {m}) < ({m}, {n})"],
        ]  # fmt: skip
        return self.choose.choice(made)

    def effect(self, _: int) -> list[str]:
        """Branches and loops that data decides, with objects of Python inside; what they change outside is refused."""
        name, a = self.name("w"), self.tensor()
        test = self.fill(self.choose.choice(["T.sum() > 0", "(T > 0).all()", "N > 2"]))
        made = [
            [f"def {name}f(v):", "    parts = [v]", "    parts.append(v * 2)", "    return torch.cat(parts)", f"{name} = cond({test}, {name}f, lambda v: torch.cat([v, v]), {a}.flatten())"],
            [f"def {name}f(v):", "    kept = {'a': v}", "    kept['a'] = kept['a'] + 1", "    return kept['a']", f"{name} = cond({test}, {name}f, lambda v: v - 1, {a})"],
            [f"{name} = cond({test}, lambda v: sum([v, v]), lambda v: v * -1, {a})"],
            [f"{name} = while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, sum([v, 1.0])), 0, {a})[1]"],
        ]  # fmt: skip
        bold = [
            [f"{name}s = []", f"def {name}f(v):", f"    {name}s.append(1)", "    return v * 2", f"{name} = cond({test}, {name}f, lambda v: v - 1, {a}) + len({name}s)"],
            [f"{name}s = [0]", f"def {name}f(i, v):", f"    {name}s[0] += 1", "    return i + 1, v * 2", f"{name} = while_loop(lambda i, v: i < 2, {name}f, torch.tensor(0), {a})[1] * {name}s[0]"],
            [f"def {name}f(v):", "    state.n += 1", "    return v * 2", f"{name} = cond({test}, {name}f, lambda v: v - 1, {a}) + state.n"],
            [f"def {name}f(v):", "    state.seen.append(v.shape)", "    return v * 2", f"{name} = cond({test}, {name}f, lambda v: v - 1, {a})"],
        ]  # fmt: skip
        return self.choose.choice(bold if self.bold and self.choose.random() < 0.5 else made)
