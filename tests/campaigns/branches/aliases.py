"""What random functions with rare branches are written of: containers, other names for them, changes of them.

In the tables, ``$L`` stands for a variable that holds a list of numbers, ``N`` for a list of lists, ``D`` for a
dict of numbers, ``E`` for a dict of lists, ``S`` for a set, ``P`` for a tuple, ``O`` for an object, ``T`` for a tensor,
``A`` for an array, ``W`` for a list of texts, ``I`` for an iterator or a view; ``i`` is a number, ``w`` a text, ``X`` an index, ``c``
a condition, ``R`` a rare one.
"""

from __future__ import annotations

KINDS = "LNDESPOTAWI"

MADE = {
    "L": """[1, 2, 3] ; [$i, 2] ; [$i, $i] ; list(ks) ; ks ; [k * 2 for k in ks] ; sorted(ks) ; ks[:2] ; [0] * 3 ; []
        list(range(3)) ; [len(w) for w in words] ; [5, *ks] ; arr.tolist() ; x[0].tolist() ; [n, n + 1] ; list(map(abs, ks)) ; [0 for _ in ks] ; [0] * len(ks) ; [] ; []""",
    "N": """[[1], [2, 3]] ; [[k] for k in ks] ; [[0, 1] for _ in range(2)] ; [[0] * 2] * 2 ; [$L, $L] ; [$L] * 2 ; [$L, [1]]
        rows ; [[], $L] ; [r for r in rows] ; [[k, 0] for k in ks] ; [[0] * 2 for _ in ks] ; x.tolist()""",
    "D": """{'u': 1, 'v': 2} ; {w: len(w) for w in words} ; dict(zip('uv', ks)) ; {} ; dict(u=$i) ; {'u': $i, 'v': 0}
        {str(k): k for k in ks} ; table ; dict(table) ; dict.fromkeys(words, 0)""",
    "E": """{'u': [1], 'v': $L} ; {'u': [$i]} ; dict.fromkeys('uv', $L) ; {'u': $L, 'v': $L} ; {'u': []} ; {'u': $L}
        {**{w: [] for w in words}, 'u': $L} ; {c: [1] for c in 'uv'}""",
    "S": "{1, 2} ; set(ks) ; set() ; {$i, 2}",
    "P": "($L, $i) ; ($L, $L) ; (1, $L)[::-1] ; ([1], $i)",
    "O": "Box($L) ; Box([1]) ; Row($L, $i) ; Row([$i], 2)",
    "T": "x ; x + 1 ; x.clone() ; x[0] ; torch.zeros(3) ; torch.tensor(ks) ; x * $i ; x.sum(0) ; torch.ones(2, 3)",
    "A": "arr ; arr * 2 ; np.zeros(3) ; arr.copy() ; np.array(ks) ; np.arange(4.0) ; x.numpy()",
    "W": "words ; ['a', 'b'] ; [w + 'q' for w in words] ; t.split('e') ; [$w, 'x'] ; sorted(words) ; list(t)",
}  # fmt: skip

NAMED = {
    "L": """$L ; $L ; $L ; $L[:] ; list($L) ; sorted($L) ; same($L) ; $L if $c else [7] ; $L or [7] ; $N[0] ; $N[-1]
        $N[0] ; $E['u'] ; $E.get('u', $L) ; $E.setdefault('q', $L) ; $E.setdefault('u', []) ; $P[0] ; $O.items
        next(iter($N)) ; max($N, key=len) ; [*$L] ; $L + [] ; $L.copy() ; copy.copy($L) ; next(iter($E.values()))
        (lambda: $L)() ; (lambda v=$L: v)() ; first($N) ; list(reversed($L)) ; $N.pop() ; $E.pop('u') ; min($L, $L)
        (None or $L) ; [v for v in $L] ; $L.__iadd__([4]) ; kept($L) ; [$L, 0][0] ; ($L, $L)[$i > 2] ; $E['u'][:]
        ($L if $i > 2 else $L) ; [7] if $R else $L ; $L if $R else [7] ; $L if not $R else $L ; list($W) and $L""",
    "N": """$N ; $N ; $N[:] ; list($N) ; sorted($N) ; [r for r in $N] ; [*$N] ; $N.copy() ; copy.deepcopy($N) ; [$L, $L]
        list($E.values()) ; [*$E.values()] ; $N + [$L] ; [r for r in $N if r] ; list(map(same, $N)) ; $N[::-1] ; [$L, *$N]
        [$L for _ in range(2)] ; sorted($N, key=len) ; list(filter(None, $N)) ; [list(r) for r in $N] ; [r[:] for r in $N]
        [$L if $R else [1], [2]]""",
    "D": "$D ; $D ; dict($D) ; {**$D} ; $D | {'z': 1} ; same($D) ; {k: v for k, v in $D.items()} ; $D.copy() ; $D if $R else {}",
    "E": """$E ; $E ; dict($E) ; {**$E} ; $E.copy() ; {k: v for k, v in $E.items()} ; dict(zip('uv', $N)) ; {'u': $L}
        same($E) ; {'u': $L, 'z': $N[0]} ; {k: v[:] for k, v in $E.items()} ; dict(sorted($E.items()))""",
    "S": "$S ; set($S) ; $S | {5} ; same($S) ; $S - {1} ; $S if $R else {9}",
    "P": "($L, $i) ; $P ; ($L, $L) ; ($L, $N) ; next(zip($N, ks)) ; next(enumerate($N))[::-1]",
    "O": "$O ; same($O) ; copy.copy($O) ; Box($O.items) ; Row($L, 2) ; $O if $R else Box([8])",
    "T": """$T ; $T ; $T[0] ; $T[:1] ; $T.view(-1) ; $T.detach() ; same($T) ; $T.T ; $T.reshape(-1) ; $T.clone() ; $T[..., 0]
        $T.unsqueeze(0) ; $T.contiguous() ; $T.float() ; $T.squeeze() ; $T if $R else $T ; list($T)[0] ; torch.from_numpy($A)
        $T.unbind(0)[0] ; torch.atleast_1d($T) ; $T.flatten() ; $T if $R else $T * 2 ; $T.chunk(2)[0] ; next(iter($T))""",
    "A": """$A ; $A ; $A[:2] ; $A[::-1] ; np.asarray($A) ; $A.reshape(-1) ; $A.copy() ; $T.numpy() ; $A.ravel() ; np.atleast_1d($A)
        same($A) ; $A if $R else $A ; $A.T ; $A[...] ; np.array($A) ; $A if $R else $A * 2 ; $A.astype($A.dtype, copy=False)""",
    "W": "$W ; $W[:] ; sorted($W) ; same($W) ; $W if $R else ['z'] ; $W or ['z'] ; [w for w in $W] ; list($W)",
    "I": """iter($L) ; zip($L, $L) ; enumerate($L) ; (v for v in $L) ; $D.items() ; $D.keys() ; $D.values() ; $E.values() ; reversed($L)
        map(str, $L) ; iter($N) ; (v * 2 for v in $L if v) ; $E.items() ; iter($D) ; zip($L, $N) ; itertools.chain($L, $L)
        itertools.islice($L, 2) ; (v + len($L) for v in (1, 2)) ; filter(None, $L) ; iter($W)""",
}  # fmt: skip

CHANGES = {
    "L": """$L.append($i) ; $L.append($i) ; $L[$X] = $i ; $L[$X] += 1 ; $L.extend([$i, 4]) ; $L[0] = $i ; $L.insert(0, $i) ; del $L[0] ; $L.pop() ; $L.sort()
        $L.reverse() ; $L += [$i] ; $L = $L + [$i] ; $L.clear() ; $L[:] = [$i] ; $L[-1] += 2 ; $L *= 2 ; grow($L, $i) ; $L[:1] = []
        $L += ($i,) ; $L.remove($L[-1]) ; $L = grow($L, $i) ; $L.extend($L) ; $L[0], $L[-1] = $L[-1], $L[0] ; $L[0] -= $i
        grow(v=$i, vs=$L) ; (lambda v: v.append($i))($L) ; list.append($L, $i) ; $L.__setitem__(0, $i) ; setattr_(Box($L), $i)
        [$L.append(v) for v in (1, 2)] ; $L = sorted($L) ; random_order($L)""",
    "N": """$N[$X].append($i) ; $N[$X].append($i) ; $N[$X][0] = $i ; $N[$X] += [$i] ; $N[$X] = $L ; $N.append($L) ; $N[0] = $L ; $N[0] += [$i] ; for r in $N: r.append($i) ; $N[-1][0] = $i
        $N.pop() ; $N.reverse() ; $N.sort() ; $N[0], $N[-1] = $N[-1], $N[0] ; grow($N[0], $i) ; $N[-1].extend($L) ; $N[0] = $N[0] + [$i]
        $N[-1].clear() ; $N.extend($N[:1]) ; $N += [$L] ; $N[0][:] = [$i] ; first($N).append($i) ; $N[0], = [$L]""",
    "D": """$D['u'] = $i ; $D['z'] = $i ; $D.update(u=$i) ; $D.pop('u', 0) ; $D.setdefault('y', $i) ; $D.clear() ; $D |= {'u': $i}
        $D['u'] = $D.get('u', 0) + 1 ; $D.update($D) ; put($D, 'u', $i) ; $D.update([('k', $i)]) ; $D = {**$D, 'u': $i} ; $D.popitem()""",
    "E": """$E['u'].append($i) ; $E['u'].append($i) ; $E['u'] += [$i] ; $E.setdefault('q', []).append($i) ; $E['z'] = $L ; $E['u'] = $E['u'] + [$i]
        for v in $E.values(): v.append($i) ; $E['u'].extend($L) ; grow($E['u'], $i) ; $E.update(u=$L) ; $E.get('u', []).append($i) ; $E.pop('u')
        for k, v in $E.items(): v.insert(0, $i) ; $E['u'].pop() ; $E['u'][0] = $i""",
    "S": "$S.add($i) ; $S.discard(1) ; $S.update([$i, 6]) ; $S |= {$i} ; $S -= {2} ; $S.clear() ; $S.add(11) ; $S = $S | {12}",
    "P": "$P[0].append($i) ; $P[0].insert(0, $i) ; grow($P[0], $i) ; $P = ([1], 2) ; $P[0].clear()",
    "O": """$O.items.append($i) ; $O.put($i) ; $O.items = [$i] ; $O.items = $O.items + [$i] ; $O.items += [$i] ; grow($O.items, $i)
        $O.items[0] = $i ; setattr_($O, $i) ; $O.count += 1 ; $O.put($i).put(2)""",
    "T": """$T += 1 ; $T.add_($i) ; $T[0] = 5 ; $T.zero_() ; $T.mul_(2) ; $T[..., 0] = $i ; $T[0] += 1 ; $T = $T + 1 ; $T.copy_($T * 3)
        $T[:1] *= 2 ; torch.add($T, 1, out=$T) ; bump($T) ; $T -= $T.sum() ; $T.clamp_(max=1) ; $T.data.mul_(3) ; $T.fill_($i) ; $T.sort()""",
    "A": """$A += 1 ; $A[0] = $i ; $A.sort() ; $A.fill(2) ; np.add($A, 1, out=$A) ; $A[:1] *= 2 ; $A = $A + 1 ; bump($A) ; $A[...] = 3 ; $A -= $A.sum()
        $A[$A > 1] = 0 ; np.copyto($A, 4)""",
    "W": "$W.append($w) ; $W[0] = $w ; $W += [$w] ; $W.reverse() ; $W.sort() ; $W.pop() ; $W = $W + [$w] ; $W[-1] += 'k' ; $W.insert(0, 'e')",
    "I": "next($I, 0) ; list($I)",
}  # fmt: skip

SEEN = {
    "L": "$0 ; $0 ; len($0) ; sum($0) ; $0[:] ; $0[-1:] ; tuple($0) ; max($0, default=0) ; {'r': $0} ; [v + 1 for v in $0]",
    "N": "$0 ; $0 ; [len(r) for r in $0] ; sum(map(len, $0)) ; $0[0] ; [sum(r) for r in $0] ; $0[-1:]",
    "D": "$0 ; $0 ; len($0) ; sorted($0) ; sum($0.values()) ; list($0.items()) ; $0.get('u')",
    "E": "$0 ; $0 ; $0.get('u') ; sum(len(v) for v in $0.values()) ; list($0.values()) ; {k: len(v) for k, v in $0.items()}",
    "S": "sorted($0) ; len($0) ; sum($0) ; 11 in $0",
    "P": "$0 ; $0[0] ; list($0)",
    "O": "$0.items ; $0.count ; len($0.items) ; $0.total() ; [*$0.items]",
    "T": "$0 ; $0 * 2 ; $0.sum() ; $0 ; $0.shape[0] ; $0.mean().item()",
    "A": "$0 ; $0 * 2 ; $0.sum() ; $0.tolist() ; float($0.max())",
    "W": "$0 ; ' '.join($0) ; len($0) ; [len(w) for w in $0]",
    "I": "list($0) ; len(list($0)) ; [v for v in $0]",
}  # fmt: skip


def lines(table: str) -> list[str]:
    """The entries of a table."""
    return [each.strip() for line in table.splitlines() for each in line.split(" ; ")]
