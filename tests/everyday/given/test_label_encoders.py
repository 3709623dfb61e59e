"""What is said of a LabelEncoder of scikit-learn in a function, and the forms that this shows."""

from __future__ import annotations

import numpy as np
import pytest

import tracepack
from tests.everyday.case import Case, check

preprocessing = pytest.importorskip("sklearn.preprocessing")
encoder = preprocessing.LabelEncoder().fit(["b", "a", "c"])
PLACES = {label: i for i, label in enumerate(encoder.classes_.tolist())}
SCORES = [np.array(rows) for rows in ([[0.1, 0.9, 0.2], [0.7, 0.1, 0.1]], [[0.1, 0.2, 0.9]])]


def named(scores):
    return encoder.classes_[scores.argmax(1)].tolist()


def placed(labels):
    return tracepack.lookup(PLACES, labels)


def test_a_label_encoder_is_refused_with_forms_that_work() -> None:
    words = r"Of a LabelEncoder write encoder.classes_\[ids\], and tracepack.lookup\(PLACES, labels\), where PLACES = {"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda scores: encoder.inverse_transform(scores.argmax(1)).tolist(), SCORES[0])
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda labels: encoder.transform(labels), ["a", "b"])
    check(Case(named, SCORES[:1], [SCORES[1:]]))
    check(Case(placed, [["a", "b"]], [[["c"]], [["b", "c", "a"]]]))
