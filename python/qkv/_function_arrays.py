"""Index arrays and checks of masks, score modifications and scores that are Python functions.

A function is called on pieces of the scores, never on all of them, with index arrays that broadcast against them: b
(1, 1, 1, 1), h (1, 1, 1, 1), q_idx (1, 1, t, 1) and kv_idx (1, 1, 1, s). Query and key indices both count from 0,
as in PyTorch's FlexAttention. Arrays are of NumPy, or tensors of PyTorch where the queries of the call are tensors.
"""

from __future__ import annotations

import sys

import numpy as np


def index_array(first, count, axis, tensors):
    shape = [1, 1, 1, 1]
    shape[axis] = count
    at = np.arange(first, first + count).reshape(shape)
    return sys.modules["torch"].from_numpy(at) if tensors else at


def broadcasts(given, whole):
    return all(n in (1, m) for n, m in zip(given, whole))


def returned(value, name, what):
    """The value that a function returned; an error if it has no return statement."""
    if value is None:
        raise TypeError(f"{name}: the function returned None; it must return {what}: is a `return` missing?")
    return value


def name_of(kind, function):
    return f"{kind}({getattr(function, '__name__', type(function).__name__)})"
