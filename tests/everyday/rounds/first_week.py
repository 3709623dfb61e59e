"""Loops as people write them in their first week: records that are copied and changed, batches, joins, searches."""

from __future__ import annotations

import copy
import math
from collections import Counter

from tests.everyday.case import Case


def ranked(records):
    found = []
    for place, record in enumerate(sorted(records, key=lambda r: -r["n"]), start=1):
        row = dict(record)
        row["place"] = place
        found.append(row)
    return found


def changed(records):
    found, total = [], 0
    for record in records:
        row = record.copy()
        total += row.pop("n")
        row.update({"total": total, "name": row["w"].upper()})
        if total > 3:
            row["name"] += "!"
        del row["w"]
        found.append(row)
    return found, total


def copied(records):
    found = []
    for record in records:
        one, other = {**record}, copy.copy(record)
        one["n"] = other["n"] * 2
        other[record["w"]] = 1
        found.append((one, other))
    return found


def extended(numbers):
    found = [0]
    found.extend(x * 2 for x in numbers if x > 1)
    found.extend([x for x in numbers if x <= 1])
    found.extend(range(len(numbers)))
    found += (x for x in numbers)
    found += (len(numbers),)
    return found


def extended_in_rounds(numbers):
    found = []
    for x in numbers:
        found.extend(y * x for y in numbers)
        found += [x, -x]
        found.extend(str(x) for x in range(0))
    return found


def updated(words):
    table = {"first": 0}
    table.update({word: len(word) for word in words})
    table.update((word + "!", 1) for word in words)
    table |= {word.upper(): 2 for word in words}
    return table


def updated_in_rounds(words):
    one, two, three = {}, {}, {}
    for word in words:
        one.update({word: one.get(word, 0) + 1})
        two |= {word: len(word)}
        three = {**three, word: 1}
    return one, two, three | one


def counted(words):
    found = Counter()
    for word in words:
        found.update([word, "all"])
    return dict(found)


def parted(numbers):
    small, middle, large = [], [], []
    for x in numbers:
        (large if x > 4 else middle if x > 1 else small).append(x)
    return small, middle, large


def batches(numbers):
    found, batch = [], []
    for x in numbers:
        batch.append(x)
        if len(batch) == 2:
            found.append(batch)
            batch = []
    return found, batch


def one_hot(numbers):
    found = []
    for x in numbers:
        row = [0] * 10
        row[x] += 1
        found.append(row)
    return found


def distance(text, other="abab"):
    before = list(range(len(other) + 1))
    for i, one in enumerate(text, 1):
        row = [i]
        for j, two in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != two)))
        before = row
    return before[-1]


def two_sum(numbers):
    seen = {}
    for i, x in enumerate(numbers):
        if 4 - x in seen:
            return [seen[4 - x], i]
        seen[x] = i
    return []


def two_sum_once(numbers):
    found = []
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == 4 and not found:
                found = [i, j]
    return found


def checked(numbers):
    total = 0
    for x in numbers:
        if x > 7:
            return "too large"
        total += x
    return f"{total} in all"


def product_of_two(numbers):
    for a in numbers:
        for b in numbers:
            if a * b == 6:
                return [a, b]
    return []


def place_of_two(numbers):
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == 4:
                return i * 10 + j
    return -1


def runs(numbers):
    found = []
    for x in numbers:
        if found and found[-1][0] == x:
            found[-1][1] += 1
        else:
            found.append([x, 1])
    return found


def pairs(numbers):
    count = 0
    for i in range(len(numbers)):
        for j in range(i):
            count += numbers[i] == numbers[j]
    return count


def _overlap(one, other):
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / (one[1] - one[0] + other[1] - other[0] - shared)


def kept_boxes(numbers):
    boxes = sorted([(x, x + 3, x * 7 % 5) for x in numbers], key=lambda box: box[2], reverse=True)
    kept = []
    while boxes:
        best = boxes.pop(0)
        kept.append(best)
        boxes = [box for box in boxes if _overlap(best, box) < 0.3]
    return kept


def beams(numbers):
    found = [("", 0.0)]
    for x in numbers:
        more = []
        for text, score in found:
            more.append((text + "a", score + math.log1p(x)))
            more.append((text + "b", score - x / 2))
        more.sort(key=lambda each: each[1], reverse=True)
        found = more[:2]
    return found


def sets_in_any_order(numbers):
    return sum(set(numbers)), max({*numbers, 0}), sorted(set(numbers)), len(set(numbers) & {1, 2})


_RECORDS = [{"n": 1, "w": "a"}, {"n": 5, "w": "b"}, {"n": 2, "w": "a"}]
_OF_RECORDS = [_RECORDS], [[[]], [[{"n": 9, "w": "z"}]], [_RECORDS[:2]], [_RECORDS * 2 + [{"n": 0, "w": "q"}]]]
_NUMBERS = [[3, 1, 2]], [[[]], [[5]], [[4, 9]], [[7, 1, 1, 8, 2, 3, 3]]]
_WORDS = [["a", "bb", "a"]], [[[]], [["x"]], [["q", "q"]], [["a", "b", "c", "b", "a", "dd", "c"]]]
CASES = {
    **{process.__name__: Case(process, *_OF_RECORDS) for process in (ranked, changed, copied)},
    **{process.__name__: Case(process, *_WORDS) for process in (updated, updated_in_rounds, counted)},
    **{
        process.__name__: Case(process, *_NUMBERS)
        for process in (
            checked,
            product_of_two,
            place_of_two,
            runs,
            extended,
            extended_in_rounds,
            parted,
            batches,
            one_hot,
            two_sum,
            two_sum_once,
            pairs,
            kept_boxes,
            beams,
            sets_in_any_order,
        )
    },
    "distance": Case(distance, ["abc"], [[""], ["a"], ["baba"], ["abbaabb"]]),
}


def handed_on_and_changed(numbers):
    found, batch = [], []
    for x in numbers:
        batch.append(x)
        found.append(batch)
    return found


def kept_twice(numbers):
    found = []
    for x in numbers:
        row = [0] * 10
        found.append(row)
        row[x] = 1
    return found


def entry_kept(words):
    table, last, seen = {"a": ["a"]}, [], []
    for word in words:
        group = table["a"]
        group.append(str(word))
        seen.append(len(last))
        last = group
    return seen


FIXED = [handed_on_and_changed, kept_twice, entry_kept]
"""Lists with two names, one of which changes them: as many rounds as the example has."""


def added_after_handing_on(numbers):
    found, batch = [], []
    for x in numbers:
        if x == 7:
            found.append(batch)
        batch += [x]
    return found


def popped_under_another_name(numbers):
    rest = list(numbers)
    other = rest
    while len(rest) > 1:
        rest.pop()
    return other


def changed_behind_the_loop(numbers):
    found, batch = [], []
    for x in numbers:
        batch.append(x)
        if x == 7:
            found.append(batch)
    batch.append(3)
    return found


UNSHOWN = [added_after_handing_on, popped_under_another_name, changed_behind_the_loop]
"""Lists with two names, one of which changes them on a way that the example does not take."""


def _searched_with_else(numbers):
    for x in numbers:
        if x > 2:
            found = x
            break
    else:
        found = -1
    return found


def _in_a_row(numbers):
    i = vars(math).get("zero", 0)  # what asks for its variables is not written anew
    while 0 <= i < len(numbers):
        i += 1
    return i


def _found_in_both(numbers):
    total = 0
    for a in numbers:
        for b in numbers:
            if a + b == 4:
                return [a, b]
            total += b
    return [total]


def _in_any_order(numbers):
    return [x * 2 for x in set(numbers)]


FORMS = {
    _searched_with_else: "A variable that is set before the loop, in place of its `else`, keeps it free",
    _in_a_row: "Two comparisons with `and` in place of one in a row keep it free",
    _found_in_both: "set once, `if … and not found:`, and returned after both loops",
    _in_any_order: r"Use sorted\(set\(numbers\)\), len",
}
"""What keeps the length of the example, with the form that does not."""
