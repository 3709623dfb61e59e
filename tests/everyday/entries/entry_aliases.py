"""Functions in which a branch that hardly any data take changes an entry that another name has, too."""

from __future__ import annotations

from collections import defaultdict


def first_row(flags):
    rows = [[f] for f in flags]
    first = rows[0]
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(0)
    return first, rows


def row_that_is_added_to(flags):
    rows = [[f] for f in flags]
    first = rows[0]
    i = 0
    while i < len(rows):
        if flags[i] * 7 == 29694:
            rows[i] += [2]
        i += 1
    return sum(first), rows


def some_rows(flags):
    rows = [[f] for f in flags]
    some = rows[:2]
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(0)
    return some, rows


def sorted_rows(flags):
    rows = [[f] for f in flags]
    turned = sorted(rows, reverse=True)
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i][0] = -1
    return turned, rows


def filtered_rows(flags):
    rows = [[f] for f in flags]
    kept = [row for row in rows if row[0] > 0]
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(0)
    return kept, rows


def one_row_for_all(flags):
    row = [0]
    rows = [row for _ in flags]
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(f)
    return rows


def row_that_is_there_twice(flags):
    rows = [[f] for f in flags]
    rows.append(rows[0])
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(0)
    return rows


def row_in_a_dict(flags):
    rows = [[f] for f in flags]
    kept = {"r": rows[0]}
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            rows[i].append(0)
    return kept, rows


def records_by_name(flags):
    records = [{"f": f, "n": 0} for f in flags]
    index = {record["f"]: record for record in records}
    for f in flags:
        if f * 7 == 29694:
            index[f]["n"] += 1
    return records


def list_of_a_defaultdict(flags):
    table = defaultdict(list)
    high = table["high"]
    for f in flags:
        if f * 7 == 29694:
            table["high"].append(f)
    return high


def dict_in_a_dict(flags):
    table = {"n": {"k": 0}}
    inner = table["n"]
    for f in flags:
        if f * 7 == 29694:
            table["n"]["k"] += f
    return table, inner


def copied_dict(flags):
    table = {"a": [0]}
    copied = dict(table)
    for f in flags:
        if f * 7 == 29694:
            table["a"].append(f)
    return copied, table


def table_that_is_got(flags):
    table = {"a": [0]}
    found = table.get("a", [])
    for f in flags:
        if f * 7 == 29694:
            table["a"].append(f)
    return found, table


def order_of_lists(flags):
    table = {"a": [], "b": []}
    order = [table["b"], table["a"]]
    for f in flags:
        if f * 7 == 29694:
            table["a"].append(f)
    return order


def list_in_a_tuple(flags):
    pair = ([], [])
    first = pair[0]
    for f in flags:
        if f * 7 == 29694:
            pair[0].append(f)
    return first, pair


def tree_by_a_stack(flags):
    stack = [[]]
    for f in flags:
        if f * 7 == 29694:
            new = [f]
            stack[-1].append(new)
            stack.append(new)
        else:
            stack[-1].append(f)
    return stack[0]


def both_halves(flags):
    rows = [[f] for f in flags]
    both = rows + rows
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            both[i].append(0)
    return both


SHARED = [
    first_row,
    row_that_is_added_to,
    some_rows,
    sorted_rows,
    filtered_rows,
    one_row_for_all,
    row_that_is_there_twice,
    row_in_a_dict,
    records_by_name,
    list_of_a_defaultdict,
    dict_in_a_dict,
    copied_dict,
    table_that_is_got,
    order_of_lists,
    list_in_a_tuple,
    tree_by_a_stack,
    both_halves,
]


def grouped(words):
    groups = {}
    for word in words:
        groups.setdefault(word[0], []).append(word)
    return groups


def rows_that_fill(flags):
    rows = [[f] for f in flags]
    for i, f in enumerate(flags):
        if f > 0:
            rows[i].append(f * 2)
    return [sum(row) for row in rows]


def read_before_it_changes(flags):
    rows = [[f] for f in flags]
    total = 0
    for i, f in enumerate(flags):
        row = rows[i]
        total += len(row)
        rows[i].append(f)
    return rows, total


def fields_of_a_report(flags):
    found = {"names": [], "best": 0, "total": 0}
    for f in flags:
        if f > 0:
            found["names"].append(str(f))
            found["best"] = f
        found["total"] += f
    return found


OWN = {
    grouped: ["ab", "cd", "ae"],
    rows_that_fill: [1, -2, 3],
    read_before_it_changes: [1, 2],
    fields_of_a_report: [1, 2],
}
