"""Functions in which a rare branch gives a container another name, or changes one that has two, by all that changes."""

from __future__ import annotations

from tests.everyday.entries.keepers import grow, put


def list_that_a_side_gives(flags):
    own = [1]
    given = own if flags[0] * 7 == 29694 else [2]
    own.append(3)
    return own, given


def list_that_a_side_sets(flags):
    own, given = [1], [2]
    if flags[0] * 7 == 29694:
        given = own
    own.append(flags[0])
    return own, given


def dict_that_a_side_gives(flags):
    own = {"u": 1}
    given = own if flags[0] * 7 == 29694 else {"u": 2}
    own["u"] = 4
    return own, given


def dict_that_is_given_and_changed(flags):
    own = {"u": 1}
    given = own if flags[0] * 7 == 29694 else {"u": 2}
    given.update(u=4)
    return own, given


def row_that_a_side_gives(flags):
    rows = [[1]]
    given = rows[0] if flags[0] * 7 == 29694 else [2]
    rows[0].append(3)
    return rows, given


def list_in_a_pair(flags):
    own = [1]
    given = (own, 1) if flags[0] * 7 == 29694 else ([2], 2)
    own.append(3)
    return own, given


def list_of_a_while_loop(flags):
    own, given = [1], [2]
    i = 0
    while i < len(flags):
        if flags[i] * 7 == 29694:
            given = own
        own.append(flags[i])
        i += 1
    return own, given


def entry_that_is_added_to(flags):
    own = [1]
    table = {"u": own}
    if flags[0] * 7 == 29694:
        table["u"] += [7]
    return own, table


def list_that_is_added_to(flags):
    own = [7]
    other = own
    for f in flags:
        if f * 7 == 29694:
            own += [f]
    return own, other


def list_in_a_list(flags):
    own = []
    both = [own, own]
    for f in flags:
        if f * 7 == 29694:
            own = grow(own, f)
            break
    return own, both


def list_of_a_helper(flags):
    own = [7]
    other = own
    for f in flags:
        if f * 7 == 29694:
            own = grow(own, f)
    return own, other


def list_of_the_caller(flags):
    own = [7]
    added(own, flags)
    return own


def added(items, flags):
    for f in flags:
        if f * 7 == 29694:
            items += [f]


def list_of_any_length(flags):
    own = [f * 2 for f in flags]
    other = own
    for f in flags:
        if f * 7 == 29694:
            own += [f]
    return own, other


def item_of_a_sorted_list(flags):
    rows = sorted([f, 0] for f in flags)
    last = rows[-1]
    for f in flags:
        if f * 7 == 29694:
            last += (2,)
    return rows, last


def dict_that_is_united(flags):
    own = {"u": 1}
    other = own
    for f in flags:
        if f * 7 == 29694:
            own |= {"v": f}
    return own, other


def dict_that_a_helper_fills(flags):
    own = {"u": 1}
    other = own
    for f in flags:
        if f * 7 == 29694:
            put(own, "u", f)
    return own, other


def set_that_is_united(flags):
    own = {1}
    other = own
    for f in flags:
        if f * 7 == 29694:
            own |= {f}
    return sorted(own), sorted(other)


def method_that_is_kept(flags):
    own = [1]
    count = own.count
    for f in flags:
        if f * 7 == 29694:
            own += [1]
    return count(1), own


def item_by_a_method_that_is_kept(flags):
    own = [1, 2]
    item = own.__getitem__
    if flags[0] * 7 == 29694:
        own[0] = 5
    return item(0), own


def entry_by_a_method_that_is_kept(flags):
    own = {"u": 1}
    ask = own.get
    for f in flags:
        if f * 7 == 29694:
            own["z"] = f
    return ask("z"), own


def sum_of_lists(flags):
    nested = [[[f]] for f in flags]
    flat = sum(nested, [])  # noqa: RUF017  # as people write it
    for i, f in enumerate(flags):
        if f * 7 == 29694:
            nested[i][0].append(0)
    return flat, nested


GIVEN = [
    list_that_a_side_gives,
    list_that_a_side_sets,
    dict_that_a_side_gives,
    dict_that_is_given_and_changed,
    row_that_a_side_gives,
    list_in_a_pair,
    list_of_a_while_loop,
    entry_that_is_added_to,
    list_that_is_added_to,
    list_in_a_list,
    list_of_a_helper,
    list_of_the_caller,
    list_of_any_length,
    item_of_a_sorted_list,
    dict_that_is_united,
    dict_that_a_helper_fills,
    set_that_is_united,
    method_that_is_kept,
    item_by_a_method_that_is_kept,
    entry_by_a_method_that_is_kept,
    sum_of_lists,
]


def list_that_is_replaced(flags):
    own = [1]
    other = own
    for f in flags:
        if f > 1:
            own = [*own, f]
    return own, other


def batches(flags):
    found, batch = [], []
    for f in flags:
        if f > 1:
            found.append(batch)
            batch = []
        batch.append(f)
    return found, batch


def best_list(flags):
    own = [1, 4]
    given = own if flags[0] > 1 else [2]
    return own, given, sum(given)


OF_ONE_NAME = {list_that_is_replaced: [1, 2, 3], batches: [1, 2, 1, 3], best_list: [1, 2]}
