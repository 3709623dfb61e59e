"""Helpers that change what they are given."""

from __future__ import annotations


def grow(items, item):
    items.append(item)
    return items


def put(table, key, item):
    table[key] = item
