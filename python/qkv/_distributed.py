"""Attention across the processes of a torch.distributed group: each has some of the queries, keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from . import _core
from ._argument_errors import with_named_arguments
from ._arrays import tensor_as_buffer, tensor_of
from ._attention import AttentionOptions
from ._call import CallShape, Parts, checked_mask, parts_of
from ._call_spec import as_buffers, check
from ._masks import Mask
from ._operations import PadKey
from ._operator import cast

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SequenceLayout:
    """Which process has which tokens of a sequence that is spread over several.

        layout = zigzag_layout(T, dist.get_world_size())
        q = layout.rows_of(whole_q, 2, dist.get_rank())          # of (B,H,T,D), the tokens of this process

    blocks: (begin, end, rank) of each run of tokens, in their order and without gaps. A rank has its blocks one
    after another.
    """

    def __init__(self, blocks):
        self.blocks = [(int(begin), int(end), int(rank)) for begin, end, rank in blocks]
        at = 0
        for begin, end, rank in self.blocks:
            if begin != at or end < begin or rank < 0:
                raise ValueError(f"SequenceLayout: blocks must follow one another from 0 on, got {self.blocks}")
            at = end
        self.length = at

    def rows(self, rank):
        """The number of tokens of a rank."""
        return sum(end - begin for begin, end, owner in self.blocks if owner == rank)

    def positions(self, rank):
        """The positions in the sequence of the tokens of a rank."""
        own = [torch.arange(begin, end) for begin, end, owner in self.blocks if owner == rank]
        return torch.cat(own) if own else torch.arange(0)

    def rows_of(self, whole, axis, rank):
        """From the whole sequence to the rows of a rank, with gradients."""
        if whole.shape[axis] != self.length:
            raise ValueError(f"SequenceLayout: axis {axis} of {tuple(whole.shape)} must have {self.length} rows")
        return whole.index_select(axis, self.positions(rank))

    def put_rows(self, rows, axis, rank, whole):
        """And back, into a tensor of the whole sequence."""
        whole.index_copy_(axis, self.positions(rank), rows)

    def __repr__(self):
        return f"SequenceLayout({self.blocks})"


def contiguous_layout(length, ranks):
    """Rank r has the r-th of N equal blocks: for windows and documents."""
    return SequenceLayout(_equal_blocks(length, list(range(ranks))))


def zigzag_layout(length, ranks):
    """Rank r has the blocks r and 2 N - 1 - r of 2 N: under a causal mask all have the same number of pairs."""
    return SequenceLayout(_equal_blocks(length, [*range(ranks), *reversed(range(ranks))]))


def _equal_blocks(length, owners):
    whole, rest = divmod(length, len(owners))
    cuts = [whole * n + min(n, rest) for n in range(len(owners) + 1)]
    return zip(cuts, cuts[1:], owners)


class DistributedPlan(NamedTuple):
    """What distributed_attention() would send, by all processes together, in bytes. str() is a text about it."""

    chosen: str
    ring_forward: int
    ring_backward: int
    heads_forward: int
    heads_backward: int
    why_not_heads: str
    text: str

    def __str__(self):
        return self.text


class _Transport:
    """Messages of bytes between the processes of a group, as the extension module asks for them."""

    def __init__(self, name, group):
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(f"{name}: call torch.distributed.init_process_group() before")
        self.group = dist.group.WORLD if group is None else group
        if dist.get_rank(self.group) < 0:
            raise ValueError(f"{name}: this process is not in the group")

    def communicator(self):
        """It owns this object: in a cycle both would keep the group, and its threads, until the process ends."""
        return _core.Communicator(dist.get_rank(self.group), dist.get_world_size(self.group), self.transfer)

    def transfer(self, to, sent, from_, received):
        works = []
        if from_ >= 0:
            works.append(dist.irecv(self._tensor(received), self._global(from_), self.group))
        if to >= 0:
            works.append(dist.isend(self._tensor(sent), self._global(to), self.group))
        for work in works:
            work.wait()

    def _global(self, rank):
        return dist.get_global_rank(self.group, rank)

    @staticmethod
    def _tensor(memory):
        return torch.frombuffer(memory, dtype=torch.uint8) if memory.nbytes else torch.empty(0, dtype=torch.uint8)


class _Place:
    """The processes, who has which rows, and the shape of the whole."""

    def __init__(self, name, q, k, group, layouts):
        transport = _Transport(name, group)
        size = dist.get_world_size(transport.group)
        queries, keys = layouts
        if queries is None:
            queries = contiguous_layout(size * q.shape[2], size)
            keys = keys or contiguous_layout(size * k.shape[2], size)
        keys = keys or queries
        self.arguments = transport.communicator(), queries.blocks, keys.blocks
        self.shape = CallShape(q.shape[0], q.shape[1], queries.length, keys.length, 4, True)


class _Call:
    """A call but for its tensors: q, k, v and the arrays of the parts."""

    def __init__(self, place: _Place, parts: Parts, distribution):
        self.place, self.parts, self.distribution = place, parts, distribution

    def arguments(self, tensors, requires_grad):
        made = self.parts.made(self.place.shape, [x.detach() for x in tensors[3:]], requires_grad)
        return *self.place.arguments, self.distribution, as_buffers(*tensors[:3]), made, requires_grad

    def __call__(self, tensors, requires_grad):
        return _core.distributed_attention(*self.arguments(tensors, requires_grad))


class _MultiTokenCall:
    """The same, whose tensors are q, k, v and five of convolutions and mixtures or None."""

    def __init__(self, place: _Place, pad_key, mask, scale):
        made = checked_mask(mask)
        self.place = place
        self.options = pad_key, None if made is None else made.of(place.shape), scale

    def __call__(self, tensors, requires_grad):
        arrays = tuple(
            None if x is None else tensor_as_buffer(torch, x.detach(), "distributed_multi_token_attention")
            for x in tensors
        )
        return _core.distributed_multi_token_attention(*self.place.arguments, arrays, *self.options, requires_grad)


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.result = call(tensors, True)
        ctx.save_for_backward(*tensors)
        return tensor_of(ctx.result.out(False))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        inputs = ctx.saved_tensors  # an error if one was changed in place
        upstream = tensor_as_buffer(torch, grad.contiguous(), "the gradient of the output")
        grads = ctx.result.backward(upstream, False)
        return None, *(
            None if x is None else tensor_of(g).reshape(x.shape).to(x.dtype) for g, x in zip(grads, inputs)
        )


def _apply(call, tensors, dtype):
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors):
        return _Function.apply(call, *tensors).to(dtype)
    return tensor_of(call(tensors, False).out(False)).to(dtype)


def _refuse_compilation(name):
    if torch.compiler.is_compiling():
        raise RuntimeError(f"{name}: torch.compile cannot trace it; call it outside of what is compiled")


@with_named_arguments
def distributed_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    group: dist.ProcessGroup | None = None,
    layout: SequenceLayout | None = None,
    key_layout: SequenceLayout | None = None,
    distribution: str = "automatic",
    **options: Unpack[AttentionOptions],
) -> Tensor:
    """attention() of a sequence that is spread over the processes of a group, with gradients.

        q, k, v = (layout.rows_of(x, 2, rank) for x in (q, k, v))
        out = qkv.torch.distributed_attention(q, k, v, mask=qkv.causal(), group=group, layout=layout)

    Every process makes the same call, with its rows of q (B, H, rows, D), k (B, G, rows, D), v (B, G, rows, E), and
    gets those of out; positions, tables of masks and biases are those of the whole sequence.

    Parameters
    ----------
    group : ProcessGroup, optional
        Of gloo, or another backend that sends tensors of the CPU; the default group unless given. A process that
        fails or is late is an error of the others when it ends, or after the timeout of the group.
    layout, key_layout : SequenceLayout, optional
        Of the queries and of the keys. By default every process has as many rows as this one, in the order of the
        ranks; the keys are laid out as the queries.
    distribution : str
        "ring": keys and values travel, those that the mask lets the others see. "heads": all rows of H / N heads go
        to each process. "automatic" sends fewer bytes: see distributed_plan().
    **options
        Those of attention(): score, modify, mask, normalize, reweigh, dropout with a seed, scale.

    Notes
    -----
    backward() is called by all processes, in the same order and once. Gradients of arrays of the parts are those of
    the pairs that a process computed: their sum over the group is the gradient.
    """
    _refuse_compilation("distributed_attention")
    (q, k, v), parts, numbers, dtype = _prepared(q, k, v, options)
    call = _Call(_Place("distributed_attention", q, k, group, (layout, key_layout)), parts, distribution)
    return _apply(call, (q, k, v, *numbers), dtype)


@with_named_arguments
def distributed_multi_token_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    pre_conv: Tensor | None = None,
    pre_mix: Tensor | None = None,
    post_conv: Tensor | None = None,
    post_head: Tensor | None = None,
    post_mix: Tensor | None = None,
    pad_key: PadKey = "both",
    mask: Mask | None = None,
    scale: float | None = None,
    group: dist.ProcessGroup | None = None,
    layout: SequenceLayout | None = None,
    key_layout: SequenceLayout | None = None,
) -> Tensor:
    """multi_token_attention() of a sequence that is spread over the processes of a group, with gradients.

        out = qkv.torch.distributed_multi_token_attention(q, k, v, post_conv=taps, layout=layout)

    Rows, group and layouts are those of distributed_attention(), the other arguments those of
    multi_token_attention(). A process gets the queries before each of its blocks that the convolutions read, and
    the keys and values that these and its own see, from the first to the last.

    Notes
    -----
    backward() is called by all processes, in the same order and once. Gradients of convolutions and mixtures are
    those of the rows that a process computed: their sum over the group is the gradient.
    """
    _refuse_compilation("distributed_multi_token_attention")
    dtype = q.dtype
    arrays = pre_conv, pre_mix, post_conv, post_head, post_mix
    tensors = [*map(_as_computed, (q, k, v)), *(x if x is None else _as_computed(x) for x in arrays)]
    check(*tensors[:3])
    place = _Place("distributed_multi_token_attention", q, k, group, (layout, key_layout))
    return _apply(_MultiTokenCall(place, pad_key, mask, scale), tensors, dtype)


@with_named_arguments
def distributed_plan(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    group: dist.ProcessGroup | None = None,
    layout: SequenceLayout | None = None,
    key_layout: SequenceLayout | None = None,
    distribution: str = "automatic",
    **options: Unpack[AttentionOptions],
) -> DistributedPlan:
    """What distributed_attention() with these arguments would send. Every process of the group calls it."""
    (q, k, v), parts, numbers, _ = _prepared(q, k, v, options)
    call = _Call(_Place("distributed_plan", q, k, group, (layout, key_layout)), parts, distribution)
    tensors = q, k, v, *numbers
    requires_grad = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    return DistributedPlan(*_core.distributed_plan(*call.arguments(tensors, requires_grad)))


def _as_computed(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float64, torch.float16) else x


def _prepared(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions):
    """(q, k, v) as they are computed, the parts and their arrays, and the type of the result."""
    if options.get("dropout") and options.get("seed") is None:
        raise ValueError("distributed_attention: dropout needs a seed, the same in every process")
    parts = parts_of(**options)
    if torch.is_autocast_enabled("cpu"):
        q, k, v = cast(q, k, v)
    dtype = q.dtype
    q, k, v = map(_as_computed, (q, k, v))
    check(q, k, v)
    return (q, k, v), parts, [torch.as_tensor(x) for x in parts.arrays()], dtype
