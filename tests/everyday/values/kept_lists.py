"""Lists of one name that a function goes on to change: sorted in place, appended to in one loop after another."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def sorted_scores(x):
    found = x.tolist()
    found.sort(reverse=True)
    found.append(1.5)
    found.reverse()
    return found


def ordered(text):
    words = text.split()
    words.sort(key=len)
    words.extend(["a", "b"])
    words.insert(0, "first")
    return words


def in_rounds(rows):
    found = []
    for row in rows:
        words = row.split()
        words.sort(key=len, reverse=True)
        if len(words) > 2:
            words.append("more")
        found.append(" ".join(words))
    return found


def one_after_another(xs, ys):
    found = []
    for x in xs:
        if x != "z":
            found.append(x + "!")  # noqa: PERF401  # the form is tested
    found.append("then")
    for y in ys:
        found.append(y + "?")  # noqa: PERF401  # the form is tested
    found.sort(key=lambda text: text[-1])
    for y in ys:
        found.append(y + str(len(found)))
    return found, len(found)


def dict_and_set(xs, ys):
    counts, seen, fresh = {}, set(), []
    for x in xs:
        counts[x] = 1
        seen.add(x)
    for y in ys:
        counts[y] = counts.get(y, 0) + 2
        if y not in seen:
            seen.add(y)
            fresh.append(y)
    return counts, sorted(seen), fresh


def with_split(text):
    words, total = text.split(), 0
    for word in text.split():
        words.append(word.upper())
        total += len(word)
    return words, total


def nested(xs, ys):
    found = []
    for x in xs:
        inner = []
        for y in ys:
            inner.append(x + y)  # noqa: PERF401  # the form is tested
        inner.sort(reverse=True)
        for y in ys:
            inner.append(y)  # noqa: PERF402  # the form is tested
        found.extend(inner)
    return found


def other_name(text):
    words = text.split()
    kept = words
    words.sort()
    return kept


def kept_in_dict(text):
    words = text.split()
    table = {"words": words}
    words.sort()
    return table


def bound_twice(books):
    books = [book for book in books if book["score"] > 0.2]
    books = [{"title": book["title"], "year": book["year"]} for book in books]
    books.sort(key=lambda book: book["year"], reverse=True)
    return books[:2]


def filled_then_bound(texts):
    out = []
    for text in texts:
        out.append(text.strip())  # noqa: PERF401  # the form is tested
    out = [text.upper() for text in out]
    out.sort()
    out.reverse()
    return ", ".join(out)


def changed(texts):
    words = [text.upper() for text in texts]
    words.insert(1, "second")
    words.insert(-1, "last but one")
    words.insert(len(words), "end")
    last, first, second = words.pop(), words.pop(0), words.pop(1)
    words.append("E")
    words.remove("E")
    gone = sorted(texts)
    gone.clear()
    return {"words": words, "last": last, "first": first, "second": second, "gone": gone}


def popped_records(books):
    rows = sorted(books, key=lambda book: book["year"])
    newest = rows.pop()
    return newest["title"], [row["title"] for row in rows]


def lengths(texts):
    table = {text: len(text) for text in texts}
    table.update({"of two": 2}, three=3)
    table.setdefault("b", 9)
    table["n"] = len(texts)
    return table


def by_the_forms(texts):
    """What the messages show, word for word."""
    items = [text.upper() for text in texts]
    item, items = items[-1], items[:-1]
    i = 0
    items = items[:i] + [item] + items[i + 1 :]  # noqa: RUF005  # the form is tested
    items = items[:i] + items[i + 1 :]
    table = {text: len(text) for text in texts}
    table = dict([*table.items(), ("n", 1)])
    other = {text.upper(): 0 for text in texts}
    table = dict([*table.items(), *other.items()])
    value = table["n"]
    table = {k: v for k, v in table.items() if k != "n"}
    return items, table, value


def put_into_list(texts):
    words = [text.upper() for text in texts]
    words[0] = "first"
    return words


def deleted(texts):
    words = [text.upper() for text in texts]
    del words[0]
    return words


def popped_from_dict(texts):
    table = {text: len(text) for text in texts}
    return table.pop(texts[0]), table


FIXED = {
    deleted: r"Write items = items\[:i\] \+ items\[i \+ 1 :\]",
    popped_from_dict: r"table = {k: v for k, v in table.items\(\) if k != key}",
}
_BOOKS = [{"title": title, "year": year, "score": score} for title, year, score in (("b", 3, 0.5), ("a", 1, 0.9))]
_OTHERS = [[_BOOKS[:1]], [[*_BOOKS, {"title": "c", "year": 2, "score": 0.7}, {"title": "d", "year": 9, "score": 0.1}]]]
_TEXTS = [["b", "a", "cc"]], [[["z", "q"]], [["x", "b", "w", "vv"]]]
REFUSED = [other_name, kept_in_dict]
_TWO = ([["a", "z"], ["b", "b"]], [[["a", "c"], ["b", "q", "a"]], [["z"], ["y"]]])
CASES = {
    "a name that is bound twice": Case(bound_twice, [_BOOKS], _OTHERS),
    "a filled list that is bound again": Case(filled_then_bound, [["b", " a"]], [[["q"]], [["x", "z ", "y"]]]),
    "inserts, pops and removals": Case(changed, *_TEXTS),
    "an item put into a list": Case(put_into_list, *_TEXTS),
    "a record popped": Case(popped_records, [_BOOKS], _OTHERS),
    "entries put into a dict": Case(lengths, *_TEXTS),
    "the forms of the messages": Case(by_the_forms, *_TEXTS),
    "a list of numbers": Case(sorted_scores, [torch.rand(3)], [[torch.rand(1)], [torch.rand(6)]]),
    "words": Case(ordered, ["aa b cc"], [["x"], ["xxx y zz w"]]),
    "in each round": Case(in_rounds, [["a bb ccc", "q"]], [[["q"]], [["x yy", "zzz y x w", "s"]]]),
    "one loop after another": Case(one_after_another, *_TWO),
    "a dict and a set in two loops": Case(dict_and_set, *_TWO),
    "words of a call": Case(with_split, ["a b"], [["q r s"], ["t"]]),
    "a loop in a loop": Case(nested, *_TWO),
}
