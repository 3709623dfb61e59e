"""Loops over lists of any length that are left early, by `break` and by a return."""

from __future__ import annotations

import itertools

import torch

from tests.everyday.case import Case

TEXTS = ["One ", "two", "x"]
LISTS = [[["a"]], [["x", "", "Y z"]], [[]], [["two", "two", "stop", "q"]]]
WORDS = ["the", "cat", "<end>", "sat"]


def until_stop(texts):
    length = 0
    for text in texts:
        if text == "stop":
            break
        length += len(text)
    return length


def last_seen(texts):
    last = "none"
    for text in texts:
        last = text
        if "o" in text:
            break
    return last


def at_most_two(texts):
    def marked(text):
        return f"{text} of {len(texts)}"

    out = []
    for text in texts:
        if len(out) == 2:
            break
        out.append(marked(text))
    return out


def changed_after(texts):
    total = 0
    for text in texts:
        total += len(text)
        if total > 4:
            total = -1
            break
        total += 1
    total *= 2
    return total


def all_filled(texts):
    for text in texts:  # noqa: SIM110  # the form is what is tested
        if not text:
            return False
    return True


def which(texts):
    for place, text in enumerate(texts):
        if "o" in text:
            return f"{place}: {text}"
        if text == "x":
            return "x!"
    return ""


def repeated(texts):
    seen = []
    for text in texts:
        if text in seen:
            return text
        seen.append(text)
    return "unique"


def letters_before(texts):
    out = []
    for text in texts:
        for letter in text:
            if letter == "o":
                break
            out.append(letter)
    return out


def numbers():
    yield from range(10)


def beside_loops_of_python(texts):
    for count in itertools.count():  # has no end
        if count > 3:
            break
    source = numbers()
    for number in source:
        if number == 2:
            break
    after = next(source)  # the loop took no more of them
    for text in texts:
        if text == "two":
            return count + number + after
    return -1


def only_first(texts):
    length, found = 0, False
    for text in texts:  # the form is what is tested: no round leads to another one
        if found:
            length = -1
            break
        length += len(text)
        if text == "":
            found = True
            break
        break
    length *= 2
    return length


def first_above(scores):
    for place, score in enumerate(scores.tolist()):
        if score > 0.5:
            return place
    return -1


def nucleus(scores):
    total, count = 0.0, 0
    for score in scores.sort(descending=True).values.tolist():
        if total >= 0.8:
            break
        total += score
        count += 1
    return count


def sum_until(scores):
    found = torch.zeros(())
    for score in scores:
        if found > 1:
            break
        found = found + score
    return found


def sentence(ids):
    words = []
    for index in ids.tolist():
        if index == 2:
            break
        words.append(WORDS[index])
    return " ".join(words)


def with_else(texts):
    for text in texts:
        if text == "stop":
            break
    else:
        return "none"
    return "found"


def of_texts(process):
    return Case(process, [TEXTS], LISTS)


def of_scores(process):
    others = [[torch.tensor([0.1, 0.2])], [torch.tensor([0.9, 0.1, 0.6])], [torch.full((9,), 0.3)]]
    return Case(process, [torch.tensor([0.1, 0.7, 0.2, 0.9])], others)


CASES = {
    "a sum": of_texts(until_stop),
    "the last item": of_texts(last_seen),
    "a list and a function inside": of_texts(at_most_two),
    "changed before it is left": of_texts(changed_after),
    "a flag is returned": of_texts(all_filled),
    "with an else": of_texts(with_else),
    "two returns": of_texts(which),
    "a list that is read": of_texts(repeated),
    "the inner loop": of_texts(letters_before),
    "beside loops that Python runs": of_texts(beside_loops_of_python),
    "always left in the first round": of_texts(only_first),
    "a place is returned": of_scores(first_above),
    "numbers": of_scores(nucleus),
    "tensors": of_scores(sum_until),
    "a text that ends": Case(
        sentence, [torch.tensor([0, 1, 3, 2, 0])], [[torch.tensor([2])], [torch.tensor([0, 0, 1])]]
    ),
}


def set_by_else(texts):
    for text in texts:
        found = text.upper()
        if text == "stop":
            break
    else:
        found = "none"
    return found


def none_or_text(texts):
    for text in texts:
        if text == "stop":
            return text
    return None


FIXED = (set_by_else, none_or_text)
"""Loops that keep the length of the example."""
