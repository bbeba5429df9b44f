"""attention() and its relatives, without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

from . import _core
from ._arrays import Output, are_plain, as_floats
from ._call import CallShape, MadeParts, Parts, checked_mask, parts_of, refuse_gradients, shape_of
from ._masks import Mask
from ._parts import Modify, Normalize, Reweigh, Score

if TYPE_CHECKING:
    from typing_extensions import Unpack

A = TypeVar("A")  # the caller's kind of array


class AttentionOptions(TypedDict, total=False):
    """The parts of the attention formula as keyword arguments, for type checkers."""

    score: Score | None
    modify: Modify | Sequence[Modify]
    mask: Mask | None
    normalize: Normalize | None
    reweigh: Reweigh | Sequence[Reweigh]
    dropout: float
    seed: int | None
    scale: float | None


@overload
def attention(
    q: A,
    k: A,
    v: A,
    *,
    return_weights: Literal[False] = ...,
    return_lse: Literal[False] = ...,
    **options: Unpack[AttentionOptions],
) -> A: ...
@overload
def attention(
    q: A,
    k: A,
    v: A,
    *,
    return_weights: Literal[True, "mean"],
    return_lse: Literal[False] = ...,
    **options: Unpack[AttentionOptions],
) -> tuple[A, A]: ...
@overload
def attention(
    q: A,
    k: A,
    v: A,
    *,
    return_weights: Literal[False] = ...,
    return_lse: Literal[True],
    **options: Unpack[AttentionOptions],
) -> tuple[A, Any]: ...
@overload
def attention(
    q: A,
    k: A,
    v: A,
    *,
    return_weights: Literal[True, "mean"],
    return_lse: Literal[True],
    **options: Unpack[AttentionOptions],
) -> tuple[A, A, Any]: ...


def attention(
    q,
    k,
    v,
    *,
    score=None,
    modify=(),
    mask=None,
    normalize=None,
    reweigh=(),
    dropout=0.0,
    seed=None,
    scale=None,
    return_weights=False,
    return_lse=False,
):
    """out_i = sum_j w_ij v_j with w = reweigh(normalize(mask(modify(score(q, k))))).

    Parameters
    ----------
    q, k, v : array
        q (B, H, T, D), k (B, G, S, D), v (B, G, S, E); G divides H. Three axes, (B, T, D), are a batch with one
        head; two, (T, D), a single sequence. NumPy arrays, PyTorch tensors on the CPU, or anything with DLPack, of
        any strides with a contiguous last axis. float32 and bfloat16 are read without a copy; float64 and float16
        are computed in float32.
    score : Score, optional
        Similarity of a query and a key; the scaled dot product by default.
    modify : Modify or sequence of Modify
        Functions of the scores, applied in this order before the mask.
    mask : Mask, optional
        Which keys a query may attend to; all of them by default.
    normalize : Normalize, optional
        From scores to attention weights; softmax by default.
    reweigh : Reweigh or sequence of Reweigh
        Factors on the weights.
    dropout, seed : float, int
        Dropout on the weights, a function of the seed; without a seed another one in every call.
    scale : float, optional
        Of the dot product, 1 / sqrt(D) by default.
    return_weights : bool or "mean"
        Also return the attention weights (B, H, T, S), or their mean over the heads (B, T, S).
    return_lse : bool
        Also return the log of the sum of exponentials (B, H, T).

    Returns
    -------
    out : array
        (B, H, T, E), with as many axes as q and of its library and type. Weights and lse follow where they are
        asked for; they are float32 for bfloat16 and float16.

    Notes
    -----
    Without gradients: qkv.torch.attention is the same call with them, attention_backward computes them from arrays.
    """
    wanted = 0
    if return_weights or return_lse:
        if return_weights not in (True, False, "mean"):
            raise ValueError(f'return_weights: expected True, False or "mean", got {return_weights!r}')
        wanted = 2 if return_weights == "mean" else 1
    if score is None and modify == () and normalize is None and reweigh == () and not dropout and scale is None:
        # The commonest call, without the microseconds that checking every part takes.
        made: MadeParts = _no_parts if mask is None else (None, (), checked_mask(mask).of(shape_of(q, k)), None, ())
    else:
        parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
        refuse_gradients(*parts.arrays())
        made = parts.made(shape_of(q, k))
    output = None
    if not are_plain(q, k, v):
        refuse_gradients(q, k, v)
        output = Output(q)
        q, k, v = as_floats(q, "q"), as_floats(k, "k"), as_floats(v, "v")
    result = _core.attention(q, k, v, *made, wanted, output is None or output.numpy)
    if not wanted:
        return result if output is None else output(result)
    out, weights, lse = result
    if output is not None:
        out, weights, lse = output(out), output.statistics(weights), output.statistics(lse)
    return (out,) + ((weights,) if return_weights else ()) + ((lse,) if return_lse else ())


def attention_backward(
    grad_out: A,
    q: A,
    k: A,
    v: A,
    *,
    score: Score | None = None,
    modify: Modify | Sequence[Modify] = (),
    mask: Mask | None = None,
    normalize: Normalize | None = None,
    reweigh: Reweigh | Sequence[Reweigh] = (),
    dropout: float = 0.0,
    seed: int | None = None,
    scale: float | None = None,
) -> tuple[A, A, A, list[A]]:
    """The gradients of sum(out * grad_out): of q, k, v, and a list with those of the arrays of all parts, in order.

    Arguments and types are those of attention(); each gradient has the type of its array.
    """
    refuse_gradients(grad_out, q, k, v)
    parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
    made = parts.made(shape_of(q, k), requires_grad=True)
    inputs = as_floats(q, "q"), as_floats(k, "k"), as_floats(v, "v")
    upstream = as_floats(grad_out, "the gradient of the output")
    output = Output(q)
    grads = _core.backward(None, *inputs, upstream, *made, output.numpy)
    dq, dk, dv, *of_parts = map(output.gradient, grads, (q, k, v, *parts.arrays()))
    return dq, dk, dv, of_parts


def attention_packed(
    q: A,
    k: A,
    v: A,
    q_offsets: Sequence[int],
    k_offsets: Sequence[int] | None = None,
    *,
    score: Score | None = None,
    modify: Modify | Sequence[Modify] = (),
    mask: Mask | None = None,
    normalize: Normalize | None = None,
    reweigh: Reweigh | Sequence[Reweigh] = (),
    dropout: float = 0.0,
    seed: int | None = None,
    scale: float | None = None,
) -> A:
    """Attention over sequences of unequal lengths, stored one after another without padding.

        out = qkv.attention_packed(q, k, v, [0, 5, 12], [0, 7, 9], mask=qkv.causal())        # two sequences

    q (T, H, D), k (S, G, D), v (S, G, E), T and S being the totals; out (T, H, E). Sequence n has the queries
    q_offsets[n] to q_offsets[n + 1] and the keys k_offsets[n] to k_offsets[n + 1]; k_offsets is q_offsets by
    default. For masks and modifiers every sequence is a call of its own with B = 1. qkv.torch.attention_packed has
    gradients.
    """
    parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
    refuse_gradients(q, k, v, *parts.arrays(), instead="qkv.torch.attention_packed")
    q_offsets = [int(n) for n in q_offsets]
    k_offsets = q_offsets if k_offsets is None else [int(n) for n in k_offsets]
    output = Output(q)
    T, S = (max((b - a for a, b in pairwise(x)), default=0) for x in (q_offsets, k_offsets))
    shape = CallShape(1, q.shape[1] if getattr(q, "ndim", 0) == 3 else 1, T, S, 4, False)  # type: ignore[attr-defined]
    inputs = as_floats(q, "q"), as_floats(k, "k"), as_floats(v, "v")
    return output(_core.attention_packed(*inputs, q_offsets, k_offsets, *parts.made(shape), output.numpy))


def explain(
    q: A,
    k: A,
    v: A,
    *,
    score: Score | None = None,
    modify: Modify | Sequence[Modify] = (),
    mask: Mask | None = None,
    normalize: Normalize | None = None,
    reweigh: Reweigh | Sequence[Reweigh] = (),
    dropout: float = 0.0,
    seed: int | None = None,
    scale: float | None = None,
) -> str:
    """Describes the call: its pass and kernels, why it uses no faster ones, visible pairs, operations, bytes."""
    parts = parts_of(score, modify, mask, normalize, reweigh, dropout, seed, scale)
    inputs = as_floats(q, "q"), as_floats(k, "k"), as_floats(v, "v")
    _, _, facts = _core.explain(*inputs, *parts.made(shape_of(q, k))).partition(
        "\n"
    )  # the first line is the call in C++
    return f"{_call_text(parts)}\n{facts}"


def _call_text(parts: Parts) -> str:
    """The call in Python: "attention(q, k, v, mask=causal() & window(8))"."""
    given = {
        "score": _list_text([parts.score]),
        "modify": _list_text(parts.modify),
        "mask": _list_text([parts.mask]),
        "normalize": _list_text([parts.normalize]),
        "reweigh": _list_text(parts.reweigh),
        "dropout": "" if parts.dropout is None else f"{parts.dropout[0]:g}, seed={parts.dropout[1]}",
    }
    if given["mask"].startswith("("):  # a combination, in parentheses
        given["mask"] = given["mask"][1:-1]
    return ", ".join(["attention(q, k, v", *(f"{name}={text}" for name, text in given.items() if text)]) + ")"


def _list_text(of_formula: Sequence[Any]) -> str:
    texts = [repr(part) for part in of_formula if part is not None]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


_no_parts = (None, (), None, None, ())
