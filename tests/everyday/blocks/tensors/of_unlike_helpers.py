"""Choices between values of two kinds in helpers without a name of their own."""

from __future__ import annotations

from functools import partial

import torch

X, Y = torch.tensor([2.0, -1.0, 3.5]), torch.tensor([-1.0, -2.0, -0.5, -3.0])
ON, OFF = (X, True), (Y, False)

kind_by_number = lambda x, n: x.double() if n > 3 else x.float()  # noqa: E731  # as users write them
rank_by_flag = lambda x, flag: x.sum() if flag else x * 2  # noqa: E731  # as users write them
rank_by_text = lambda x, mode: x.sum() if mode == "sum" else x * 2  # noqa: E731  # as users write them
rank_by_data = lambda x: x.sum() if (x > 1).any() else x * 2  # noqa: E731  # as users write them
always = partial(rank_by_flag, flag=True)


class Post:
    k = 2

    def __init__(self, scale):
        self.scale = scale

    @staticmethod
    def static(x, flag):
        return x.sum() if flag else x * 2

    @staticmethod
    def by_data(x):
        if (x > 1).any():
            return x.sum()
        return x * 2

    @classmethod
    def of_class(cls, x, n):
        return x.sum() if n > 3 else x * cls.k

    def __call__(self, x, flag):
        return x.sum() * self.scale if flag else x * 2


class Service:
    def __init__(self):
        self.post = Post(2.0)

    def __call__(self, x, flag):
        y = x + 1
        return self.post(y, flag)


class ByData:
    def __call__(self, x):
        return x.sum() if (x > 1).any() else x * 2


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x, norm=False):
        y = self.linear(x)
        if norm:
            return y.softmax(-1)
        return y.argmax(-1)


class ChoosingByData(torch.nn.Module):
    def forward(self, x):
        return x.sum() if (x > 1).any() else x * 2


class Wrapped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()

    def forward(self, x, norm):
        return self.head(x + 1, norm)


def multiplied(k):
    def helper(x, flag):
        if flag:
            return x.sum() * k
        return x * k

    return helper


POST, BY_DATA, HEAD, CHOOSING, WRAPPED = Post(3.0), ByData(), Head().eval(), ChoosingByData().eval(), Wrapped().eval()
TRIPLED = multiplied(3)
ROWS, MORE = (torch.rand(2, 3), True), (torch.rand(5, 3), False)


def in_lambda(x, n):
    return kind_by_number(x, n)


def after_lambda(x, flag):
    y = rank_by_flag(x + 1, flag)
    return {"y": y}


def going_on(x, flag):
    y = rank_by_flag(x, flag)
    return y + 1


def text_in_lambda(x, mode):
    return rank_by_text(x, mode)


def data_in_lambda(x):
    return rank_by_data(x)


def partly(x, flag):
    return always(x, flag=flag)


def of_class(x, n):
    return Post.of_class(x, n)


CASES = {
    "lambda": (in_lambda, [(X, 7), (Y, 1)]),
    "after a lambda": (after_lambda, [ON, OFF]),
    "going on": (going_on, [ON, OFF]),
    "text": (text_in_lambda, [(X, "sum"), (Y, "")]),
    "data": (data_in_lambda, [(X,), (Y,)]),
    "partial": (partly, [ON, OFF]),
    "static": (lambda x, flag: Post.static(x, flag), [ON, OFF]),
    "static of an object": (lambda x, flag: POST.static(x, flag), [ON, OFF]),
    "static by data": (lambda x: Post.by_data(x), [(X,), (Y,)]),
    "class method": (of_class, [(X, 7), (Y, 1)]),
    "called object": (lambda x, flag: POST(x, flag), [ON, OFF]),
    "object in an object": (Service(), [ON, OFF]),
    "object by data": (lambda x: BY_DATA(x), [(X,), (Y,)]),
    "module": (lambda x, norm: HEAD(x, norm), [ROWS, MORE]),
    "module by name": (lambda x, norm: HEAD(x, norm=norm), [ROWS, MORE]),
    "module by data": (lambda x: CHOOSING(x), [(X,), (Y,)]),
    "module in a module": (lambda x, norm: WRAPPED(x, norm), [ROWS, MORE]),
    "closure": (lambda x, flag: TRIPLED(x, flag), [ON, OFF]),
}
