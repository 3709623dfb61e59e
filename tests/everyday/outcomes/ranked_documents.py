"""BM25 and TF-IDF by hand over texts: counters, sets of words, sorted scores."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict


def bm25(query, docs, k=2, k1=1.5, b=0.75):
    tokens = [re.findall(r"\w+", doc.lower()) for doc in docs]
    average = sum(len(each) for each in tokens) / len(tokens)
    found = Counter()
    for each in tokens:
        found.update(set(each))
    scores = []
    for each in tokens:
        counts, score = Counter(each), 0.0
        for word in re.findall(r"\w+", query.lower()):
            if word not in counts:
                continue
            idf = math.log((len(docs) - found[word] + 0.5) / (found[word] + 0.5) + 1)
            score += idf * counts[word] * (k1 + 1) / (counts[word] + k1 * (1 - b + b * len(each) / average))
        scores.append(score)
    order = sorted(range(len(docs)), key=lambda i: scores[i], reverse=True)[:k]
    return [docs[i] for i in order]


def bm25_by_functions(query, docs, k=2):
    tokens = [doc.lower().split() for doc in docs]
    n = len(docs)
    found = Counter(word for each in tokens for word in set(each))
    average = sum(map(len, tokens)) / n
    idf = {word: math.log(1 + (n - count + 0.5) / (count + 0.5)) for word, count in found.items()}

    def score(words, each):
        counts = Counter(each)
        length = 1.5 * (0.25 + 0.75 * len(each) / average)
        return sum(idf.get(word, 0.0) * counts[word] * 2.5 / (counts[word] + length) for word in words)

    pairs = zip(tokens, docs, strict=True)
    ranked = sorted(((score(query.split(), each), doc) for each, doc in pairs), key=lambda pair: -pair[0])
    return [{"text": doc, "score": round(value, 4)} for value, doc in ranked[:k]]


def tf_idf(docs):
    tokens = [doc.lower().split() for doc in docs]
    found = defaultdict(int)
    for each in tokens:
        for word in set(each):
            found[word] += 1
    out = []
    for each in tokens:
        counts = Counter(each)
        values = {word: counts[word] / len(each) * math.log(len(docs) / found[word]) for word in counts}
        out.append(sorted(values.items(), key=lambda item: (-item[1], item[0]))[:3])
    return out


def overlapping(query, docs, k):
    words = Counter(query.split())
    return heapq.nlargest(k, docs, key=lambda doc: sum((Counter(doc.split()) & words).values()))


def most_common(docs):
    found = Counter()
    for doc in docs:
        found.update(set(doc.split()))
    out = []
    for word, count in found.most_common(1):
        out.append((word, count))
    return out


def middle_word(docs):
    out = []
    for doc in docs:
        words = list(set(doc.split()))
        out.append(words[len(words) // 2] if words else None)
    return out
