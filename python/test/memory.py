"""What calls hold in memory at most, over what was held before them, in MB: a program, because memory that a call
gives back is kept for the next one, and would hide what that one takes.

    python python/test/memory.py Torch        # a line of JSON: the call, and MB
"""

import json
import sys
from pathlib import Path

import numpy as np

import qkv
import test_arrays

MB = 1 << 20


def held(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def grown_by(call):
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is forgotten
    before = held("VmRSS:")
    call()
    return held("VmHWM:") - before


def calls(library):
    """Later ones are larger, or take nothing: they do not fit into what earlier ones gave back. Arrays of 64, 128,
    256 MB."""
    q, long = library.ones(1, 1, 1, 64), library.ones(1, 1, 1 << 18, 64)
    yield "keys and values", lambda: qkv.attention(q, long, long)
    keys, larger = library.ones(1, 1, 8, 64), library.ones(1, 1, 1 << 19, 64)
    yield "queries and result", lambda: qkv.attention(larger, keys, keys)
    two, largest = library.ones(1, 1, 2, 64), library.ones(1, 1, 1 << 20, 64)
    yield "backward", lambda: qkv.attention_backward(two, two, largest, largest)


def of_views(library):
    large, q = np.ones((1 << 19, 2, 64), np.float32), np.ones((1, 2, 1, 64), np.float32)
    of_heads, second = large.transpose(1, 0, 2)[None], large[::2].transpose(1, 0, 2)[None]
    same = np.broadcast_to(large[:1], (1 << 19, 2, 64)).transpose(1, 0, 2)[None]
    for name, k in (("heads side by side", of_heads), ("every second row", second), ("the same row", same)):
        yield name, lambda: qkv.attention(q, k, k)
    yield "a copy", lambda: qkv.attention(q, of_heads.copy(), of_heads)


def of_tensors(library):
    import qkv.torch

    torch = library.torch
    q, k = torch.ones(1, 1, 2, 64), torch.ones(1, 1, 1 << 19, 64).requires_grad_()
    yield "attention with gradients", lambda: qkv.torch.attention(q, k, k)
    yield "scaled_dot_product_attention with gradients", lambda: qkv.torch.scaled_dot_product_attention(q, k, k)
    with torch.no_grad():
        yield "attention without", lambda: qkv.torch.attention(q, k, k)


if __name__ == "__main__":
    library = getattr(test_arrays, sys.argv[1])()
    more = {"Numpy": of_views, "Torch": of_tensors}.get(sys.argv[1], lambda _: ())
    qkv.attention(*[library.ones(1, 1, 2, 64)] * 3)  # what is allotted once
    print(json.dumps({name: grown_by(call) for cases in (more, calls) for name, call in cases(library)}))
