"""The call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

import numpy as np

from . import _core
from ._arrays import output_converter, as_buffer, look_at_tensor, tensor_of, torch_of
from ._masks import Mask
from ._parts import Modify, Normalize, Reweigh, Score, dot

if TYPE_CHECKING:
    from typing_extensions import Unpack

A = TypeVar("A")  # the caller's kind of array


class Sentence(TypedDict, total=False):
    """The words of a call, for those who check types."""

    score: Score | None
    modify: Modify | Sequence[Modify]
    mask: Mask | None
    normalize: Normalize | None
    reweigh: Reweigh | Sequence[Reweigh]
    dropout: float
    seed: int | None
    scale: float | None


@overload
def attention(q: A, k: A, v: A, *, return_weights: Literal[False] = ..., return_lse: Literal[False] = ...,
              **words: Unpack[Sentence]) -> A: ...
@overload
def attention(q: A, k: A, v: A, *, return_weights: Literal[True], return_lse: Literal[False] = ...,
              **words: Unpack[Sentence]) -> tuple[A, A]: ...
@overload
def attention(q: A, k: A, v: A, *, return_weights: Literal[False] = ..., return_lse: Literal[True],
              **words: Unpack[Sentence]) -> tuple[A, Any]: ...
@overload
def attention(q: A, k: A, v: A, *, return_weights: Literal[True], return_lse: Literal[True],
              **words: Unpack[Sentence]) -> tuple[A, A, Any]: ...


def attention(q, k, v, *, score=None, modify=(), mask=None, normalize=None, reweigh=(), dropout=0.0, seed=None, scale=None,
              return_weights=False, return_lse=False):
    """out_i = sum_j w_ij v_j with w = reweigh(normalize(mask(modify(score(q, k))))).

    q (B, H, T, D), k (B, G, S, D), v (B, G, S, E), float32 or bfloat16: NumPy arrays, PyTorch tensors on the CPU, or
    anything with DLPack; G divides H. Any strides with a contiguous last axis; nothing is copied. The result is of the
    caller's kind: out (B, H, T, E), with return_weights and return_lse also weights (B, H, T, S) and the log of the sum of
    exponentials (B, H, T).

    Without gradients: qkv.torch.attention is the same call with them.
    """
    with_weights = return_weights or return_lse
    if score is None and modify == () and normalize is None and reweigh == () and not dropout and scale is None:
        # The commonest sentence, without the microseconds that looking at its parts would take.
        made = _nothing if mask is None else (None, (), _checked_mask(mask).of(_shape(q, k)), None, ())
    else:
        parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
        _refuse_tape(*parts.arrays())
        made = parts.made(_shape(q, k))
    give = None
    if not (type(q) is type(k) is type(v) is np.ndarray):
        _refuse_tape(q, k, v)
        if (torch := torch_of(q)) and type(q) is type(k) is type(v):
            give = tensor_of
            q, k, v = look_at_tensor(torch, q, "q"), look_at_tensor(torch, k, "k"), look_at_tensor(torch, v, "v")
        else:
            give = output_converter(q)
            q, k, v = as_buffer(q, "q"), as_buffer(k, "k"), as_buffer(v, "v")
    result = _core.attention(q, k, v, *made, with_weights, give is None)
    if not with_weights:
        return result if give is None else give(result)
    out, weights, lse = result if give is None else map(give, result)
    return (out,) + ((weights,) if return_weights else ()) + ((lse,) if return_lse else ())


def attention_backward(grad_out: A, q: A, k: A, v: A, *, score: Score | None = None, modify: Modify | Sequence[Modify] = (),
                       mask: Mask | None = None, normalize: Normalize | None = None, reweigh: Reweigh | Sequence[Reweigh] = (),
                       dropout: float = 0.0, seed: int | None = None, scale: float | None = None) -> tuple[A, A, A, list[A]]:
    """The gradients of sum(out * grad_out): of q, k, v, and a list with those of the arrays of all parts, in their order."""
    _refuse_tape(grad_out, q, k, v)
    parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
    made = parts.made(_shape(q, k), learnt=True)
    give = output_converter(q)
    grads = _core.backward(None, as_buffer(q, "q"), as_buffer(k, "k"), as_buffer(v, "v"), as_buffer(grad_out, "grad_out"), *made, give is None)
    if give is not None:
        grads = [give(g) for g in grads]
    return grads[0], grads[1], grads[2], list(grads[3:])


def explain(q: A, k: A, v: A, *, score: Score | None = None, modify: Modify | Sequence[Modify] = (), mask: Mask | None = None,
            normalize: Normalize | None = None, reweigh: Reweigh | Sequence[Reweigh] = (), dropout: float = 0.0,
            seed: int | None = None, scale: float | None = None) -> str:
    """What the call would do: the kernels and why not faster ones, visible pairs, operations, bytes."""
    parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
    return _core.explain(as_buffer(q, "q"), as_buffer(k, "k"), as_buffer(v, "v"), *parts.made(_shape(q, k)))


_nothing = (None, (), None, None, ())  # of a call that names no part


class Parts:
    """The parts of one call, checked."""

    __slots__ = ("score", "modify", "mask", "normalize", "reweigh", "dropout")

    def made(self, shape, arrays=None, learnt=False):
        """What the extension module takes; `arrays`, in the order of arrays(), stand in for those of the parts."""
        rest = iter(arrays) if arrays is not None else None

        def one(part):
            if part is None:
                return None
            mine = None if rest is None else [next(rest) for _ in part.arrays]
            return part.made(mine, learnt)

        score, modify, normalize = one(self.score), tuple(map(one, self.modify)), one(self.normalize)
        reweigh = tuple(map(one, self.reweigh))
        if self.dropout is not None:
            reweigh += (_core.dropout(*self.dropout),)
        return score, modify, None if self.mask is None else self.mask.of(shape), normalize, reweigh

    def arrays(self):
        parts = (self.score, *self.modify, self.normalize, *self.reweigh)
        return [x for part in parts if part is not None for x in part.arrays]


def parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale):
    parts = Parts()
    parts.score = _checked(score, Score, "score")
    parts.modify = _several(modify, Modify, "modify")
    parts.mask = _checked_mask(mask)
    parts.normalize = _checked(normalize, Normalize, "normalize")
    parts.reweigh = _several(reweigh, Reweigh, "reweigh")
    parts.dropout = None
    if scale is not None:
        scale = _number(scale, "scale")
        if score is not None:
            raise ValueError(f"scale belongs to the dot product, which {score!r} replaces; some scores have a scale of their own")
        parts.score = dot(scale)
    if dropout:
        if seed is None:
            seed = int(np.random.default_rng().integers(1 << 63))
        parts.dropout = (_number(dropout, "dropout"), checked_seed(seed))
    return parts


def _number(x, name):
    if isinstance(x, (str, bytes)) or not hasattr(x, "__float__"):
        raise TypeError(f"{name}: expected a number, got {type(x).__name__}")
    return float(x)


def checked_seed(seed):
    if not hasattr(seed, "__index__"):
        raise TypeError(f"seed: expected an integer, got {type(seed).__name__}")
    if not 0 <= (seed := seed.__index__()) < 1 << 64:
        raise ValueError(f"seed: expected an integer from 0 to 2**64 - 1, got {seed}")
    return seed


def _checked(part, kind, name, hint=""):
    if part is None or isinstance(part, kind):
        return part
    raise TypeError(f"{name}: expected one of qkv's, got {type(part).__name__}{hint}")


def _checked_mask(mask):
    return _checked(mask, Mask, "mask", " (a table of booleans is dense(table), a function mask(function))")


def _several(parts, kind, name):
    if isinstance(parts, kind):
        return (parts,)
    if parts is None:
        return ()
    if not isinstance(parts, (tuple, list)):
        raise TypeError(f"{name}: expected one of qkv's or a list of them, got {type(parts).__name__}")
    return tuple(_checked(part, kind, name) for part in parts)


def _shape(q, k):
    for x, name in ((q, "q"), (k, "k")):
        if type(x) is not np.ndarray and (not hasattr(x, "ndim") or getattr(x, "is_nested", False)):
            raise TypeError(f"{name}: expected an array (NumPy, PyTorch, or anything with DLPack), got {type(x).__name__}")
    if q.ndim != 4 or k.ndim != 4:
        raise ValueError(f"attention: expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E); q is {tuple(q.shape)}, k is {tuple(k.shape)}")
    return (q.shape[0], q.shape[1], q.shape[2], k.shape[2])


def _refuse_tape(*arrays):
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return
    for x in arrays:
        if isinstance(x, torch.Tensor) and x.requires_grad:
            raise ValueError("this call records no gradients, and a tensor requires one: qkv.torch.attention does, or use torch.no_grad()")
