"""Loops that gather: groups of records, sessions, segments with an open end, counters, what came last for a key."""

from __future__ import annotations

from collections import Counter

from tests.everyday.case import Case


def sessions_closed(times):
    groups, current = [], []
    for time in times:
        if current and time - current[-1] > 5.0:
            groups.append(current)
            current = []
        current.append(time)
    if current:
        groups.append(current)
    return groups


def sessions_of_records(events):
    sessions, current = [], []
    for event in events:
        if current and event["t"] - current[-1]["t"] > 30.0:
            sessions.append(current)
            current = []
        current.append(event)
    if current:
        sessions.append(current)
    return [{"n": len(session), "start": session[0]["t"], "end": session[-1]["t"]} for session in sessions]


def grouped_records(events):
    groups = []
    for event in events:
        if not groups or event["t"] - groups[-1][-1]["t"] > 30.0:
            groups.append([event])
        else:
            groups[-1].append(event)
    return [[event["kind"] for event in group] for group in groups]


def segments(scores):
    found, start = [], None
    for i, score in enumerate(scores):
        if score > 0.5 and start is None:
            start = i
        elif score <= 0.5 and start is not None:
            found.append((start, i))
            start = None
    if start is not None:
        found.append((start, len(scores)))
    return found


def spans_with_labels(tags):
    spans, start, label = [], None, None
    for i, tag in enumerate(tags):
        if tag.startswith("B-"):
            if start is not None:
                spans.append((start, i, label))
            start, label = i, tag[2:]
        elif tag == "O":
            if start is not None:
                spans.append((start, i, label))
            start, label = None, None
    if start is not None:
        spans.append((start, len(tags), label))
    return spans


def first_above(scores):
    first = None
    for i, score in enumerate(scores):
        if score > 0.5 and first is None:
            first = i
    return -1 if first is None else first


def first_repeat(times):
    seen, repeated = set(), None
    for time in times:
        if time in seen and repeated is None:
            repeated = time
        seen.add(time)
    return repeated


def counted_words(texts):
    counts = Counter()
    for text in texts:
        counts.update(text.split())
    return dict(counts)


def counted_counts(texts):
    counts = Counter()
    for text in texts:
        counts.update(Counter(text.split()))
    return counts.most_common(2)


def counted_letters(texts):
    counts = Counter()
    for text in texts:
        counts.update(text)
    return {"a": counts["a"], "all": sum(counts.values())}


def gaps_by_key(words, times):
    last, gaps = {}, []
    for word, time in zip(words, times, strict=False):
        before = last.get(word)
        if before is not None:
            gaps.append(time - before)
        last[word] = time
    return gaps


def first_places(words, times):
    found = {}
    for i, word in enumerate(words):
        if found.get(word) is None:
            found[word] = i
    return found


def with_the_one_before(words, times):
    last, rows = {}, []
    for word, time in zip(words, times, strict=False):
        rows.append({"word": word, "before": last.get(word)})
        last[word] = time
    return rows


def last_of_each(words, times):
    found = {}
    for word, time in zip(words, times, strict=False):
        found[word] = found.get(word, 0.0) + time
    return [found.get("a"), found.get("x")]


def rows_with_gaps(words, times):
    last, rows = 0.0, []
    for word, time in zip(words, times, strict=False):
        if word == "x":
            rows.append((last, None))
        else:
            rows.append((last, word))
        last = time
    return rows


def best_record(words, times):
    best = {"word": None, "time": 0.0}
    for word, time in zip(words, times, strict=False):
        if time > best["time"]:
            best["word"] = word
            best["time"] = time
    return best


_TIMES = ([[0.0, 1.0, 10.0, 11.0, 30.0]], [[[0.0, 20.0]], [[0.0, 1.0, 2.0, 50.0, 51.0, 99.0]], [[3.0]]])
_EVENTS = (
    [[{"t": 0.0, "kind": "view"}, {"t": 5.0, "kind": "click"}, {"t": 50.0, "kind": "view"}]],
    [
        [[{"t": 0.0, "kind": "view"}, {"t": 100.0, "kind": "view"}]],
        [[{"t": 0.0, "kind": "a"}, {"t": 1.0, "kind": "b"}, {"t": 2.0, "kind": "c"}, {"t": 150.0, "kind": "d"}]],
    ],
)
_SCORES = ([[0.2, 0.8, 0.9, 0.1, 0.7]], [[[0.9, 0.8]], [[0.1, 0.9, 0.9, 0.2, 0.1, 0.8, 0.1]], [[0.1]]])
_TAGS = (
    [["B-PER", "I-PER", "O", "B-LOC", "O"]],
    [[["O", "O"]], [["B-LOC", "B-PER", "I-PER", "I-PER", "O", "B-X"]], [["B-X"]]],
)
_TEXTS = ([["a b a", "b c"]], [[["x"]], [["a a", "b", "c d e"]]])
_WORDS = (
    [["a", "b", "a"], [1.0, 2.0, 4.0]],
    [[["z", "x"], [-1.0, -2.0]], [["a", "x", "a", "x"], [4.0, 1.0, 9.0, 3.0]], [["q"], [2.0]]],
)

CASES = {
    "sessions_closed": Case(sessions_closed, *_TIMES),
    "sessions_of_records": Case(sessions_of_records, *_EVENTS),
    "first_repeat": Case(first_repeat, [[1.0, 2.0, 1.0]], [[[2.0, 2.0, 1.0, 1.0]], [[4.0]], [[3.0, 1.0]]]),
    "grouped_records": Case(grouped_records, *_EVENTS),
    "segments": Case(segments, *_SCORES),
    "first_above": Case(first_above, *_SCORES),
    "spans_with_labels": Case(spans_with_labels, *_TAGS),
    **{process.__name__: Case(process, *_TEXTS) for process in (counted_words, counted_counts, counted_letters)},
    **{
        process.__name__: Case(process, *_WORDS)
        for process in (
            gaps_by_key, first_places, with_the_one_before, last_of_each, rows_with_gaps, best_record,
        )
    },
}  # fmt: skip
