"""The calls of qkv on PyTorch's tensors, with gradients: to q, k, v and to every array of the parts.

    out = qkv.torch.attention(q, k, v, mask=qkv.causal(), modify=[qkv.alibi(slopes)])      # slopes may be a
    Parameter

Works under torch.compile, torch.func.vmap and torch.func.grad: make masks and parts outside of the function that
these transform, because they are objects, not tensors. Under autocast it computes in bfloat16. Gradients can be
taken once. distributed_attention is the call over the processes of a group. scaled_dot_product_attention,
flex_attention and MultiheadAttention are PyTorch's, computed here.
"""

import torch as _torch

from ._argument_errors import with_named_arguments as _with_named_arguments
from ._call import parts_of as _parts_of
from ._distributed import (
    DistributedPlan,
    SequenceLayout,
    contiguous_layout,
    distributed_attention,
    distributed_multi_token_attention,
    distributed_plan,
    zigzag_layout,
)
from ._flex import flex_attention
from ._operator import Call as _Call
from ._sdpa import MultiheadAttention, scaled_dot_product_attention
from ._torch_operations import (
    attention_packed,
    gate_heads,
    local_p,
    masked_softmax,
    multi_token_attention,
    normalize_heads,
    rotary,
    softmax,
)

__all__ = [
    "DistributedPlan",
    "MultiheadAttention",
    "SequenceLayout",
    "attention",
    "attention_packed",
    "contiguous_layout",
    "distributed_attention",
    "distributed_multi_token_attention",
    "distributed_plan",
    "flex_attention",
    "gate_heads",
    "local_p",
    "masked_softmax",
    "multi_token_attention",
    "normalize_heads",
    "rotary",
    "scaled_dot_product_attention",
    "softmax",
    "zigzag_layout",
]


@_with_named_arguments
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
    """qkv.attention on tensors, with gradients. No gradient flows through the weights and lse that it returns."""
    if scale is not None and score is not None:
        raise ValueError(
            "scale belongs to the dot product, which another score replaces; some scores have a scale of their own"
        )
    if return_weights not in (True, False, "mean"):
        raise ValueError(f'return_weights: expected True, False or "mean", got {return_weights!r}')
    axes = q.dim()
    if not axes == k.dim() == v.dim() or not 2 <= axes <= 4:
        raise ValueError(
            "attention: expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), or three, (B,T,D), or two, "
            f"(T,D), of all of them; q is {tuple(q.shape)}, k is {tuple(k.shape)}, v is {tuple(v.shape)}"
        )
    parts = _parts_of(score, modify, mask, normalize, reweigh)
    call = _Call(parts, scale=scale, dropout=dropout, seed=seed, axes=axes)
    dtype = q.dtype
    is_plain = axes == 4 and dtype == k.dtype == v.dtype and dtype not in _other_floats
    if not is_plain:
        q, k, v = (_as_computed(x, axes) for x in (q, k, v))
    out = call(q, k, v)
    if not is_plain:
        out = _as_given(out, axes).to(dtype if dtype in _other_floats else out.dtype)
    if not (return_weights or return_lse):
        return out
    weights, lse = call.weights_and_lse(q, k, v, return_weights == "mean")
    weights = weights[0] if return_weights == "mean" and axes == 2 else weights
    weights = _as_given(weights, axes) if weights.dim() == 4 else weights
    lse = _as_given(lse, axes)
    if dtype == _torch.float64:
        weights, lse = weights.double(), lse.double()
    return (out,) + ((weights,) if return_weights else ()) + ((lse,) if return_lse else ())


_other_floats = (_torch.float64, _torch.float16)


def _as_computed(x, axes):
    """With four axes; float64 and float16 in float32."""
    if x.dtype in _other_floats:
        x = x.float()
    if axes == x.dim() and axes in (2, 3):
        x = x[:, None] if axes == 3 else x[None, None]
    return x


def _as_given(x, axes):
    return x if axes not in (2, 3) else x[:, 0] if axes == 3 else x[0, 0]
