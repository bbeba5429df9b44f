"""The same call for PyTorch, with gradients: to q, k, v and to every array of the parts.

    out = qkv.torch.attention(q, k, v, mask=qkv.causal(), modify=[qkv.alibi(slopes)])      # slopes may be a Parameter

Works under torch.compile, torch.func.vmap and torch.func.grad: make masks and parts outside the function that these are
given, as they are objects, not tensors. Under autocast it computes in bfloat16. Gradients can be taken once, not twice.
scaled_dot_product_attention and MultiheadAttention are PyTorch's, computed here.
"""

from ._attention import parts_of
from ._operator import Call
from ._sdpa import MultiheadAttention, scaled_dot_product_attention

__all__ = ["MultiheadAttention", "attention", "scaled_dot_product_attention"]


def attention(q, k, v, *, score=None, modify=(), mask=None, normalize=None, reweigh=(), dropout=0.0, seed=None, scale=None,
              return_weights=False, return_lse=False):
    """qkv.attention on tensors, with gradients. Weights and lse are numbers to look at: no gradient flows through them."""
    if scale is not None and score is not None:
        raise ValueError("scale belongs to the dot product, which another score replaces; some scores have a scale of their own")
    parts = parts_of(score, modify, mask, normalize, reweigh, 0.0, None, None)
    call = Call(parts, scale=scale, dropout=dropout, seed=seed)
    out = call(q, k, v)
    if not (return_weights or return_lse):
        return out
    weights, lse = call.weights(q, k, v)
    return (out,) + ((weights,) if return_weights else ()) + ((lse,) if return_lse else ())
