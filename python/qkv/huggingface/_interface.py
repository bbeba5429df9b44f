"""The attention function and the masks that transformers calls by the name "qkv"."""

from typing import Any

import torch

from .._call import Parts, parts_of
from .._masks import causal, window
from .._operator import Call, needs_no_tape, without_gradients
from .._parts import dot, softcap as softcap_of, softmax_with_sink


def register(name="qkv"):
    """Makes attn_implementation=name mean this attention."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, mask)  # without it models silently drop their masks


def mask(
    batch_size=None,
    q_length=None,
    kv_length=None,
    q_offset=0,
    kv_offset=0,
    mask_function=None,
    attention_mask=None,
    **more,
):
    """For transformers: None or the padding (B, S) where attend() knows the rest of the mask, else a table."""
    from transformers.masking_utils import sdpa_mask

    if _is_known(mask_function, more) and _ends_together(q_length, kv_length, q_offset, kv_offset, mask_function):
        if attention_mask is None or (not torch.compiler.is_compiling() and attention_mask.all()):
            return None
        seen = attention_mask[:, kv_offset : kv_offset + kv_length]
        missing = kv_length - seen.shape[1]
        return torch.nn.functional.pad(seen, (0, missing), value=False) if missing else seen
    more.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    return sdpa_mask(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        mask_function=mask_function,
        attention_mask=attention_mask,
        **more,
    )


def _is_known(function, more):
    """Whether attend() gets this mask from the layer's arguments: causal, a sliding window, or bidirectional."""
    from transformers import masking_utils as theirs

    if more.get("use_vmap"):
        return False
    if function in (theirs.causal_mask_function, theirs.bidirectional_mask_function):
        return True
    # A causal window is a closure over two functions, and the second one over the width of the window.
    if getattr(function, "__qualname__", "").startswith("and_masks."):
        parts = [
            part for cell in function.__closure__ or () for part in _as_tuple(cell.cell_contents) if callable(part)
        ]
        others = [part for part in parts if part is not theirs.causal_mask_function]
        return len(parts) == 2 and len(others) == 1 and others[0].__qualname__.startswith("sliding_window_overlay.")
    return False


def _as_tuple(x):
    return x if isinstance(x, (tuple, list)) else (x,)


def _ends_together(q_length, kv_length, q_offset, kv_offset, function):
    """Whether the last query has the position of the last key, or positions do not matter."""
    from transformers.masking_utils import bidirectional_mask_function

    if function is bidirectional_mask_function:
        return True
    return int(q_offset) + q_length == int(kv_offset) + kv_length


# By the arguments of a layer: its parts, and their objects in the extension module.
_parts: dict[Any, Parts] = {}
_made_parts: dict[Any, tuple[Any, ...]] = {}


@torch.compiler.assume_constant_result
def parts_for_layer(is_causal, window_size, softcap):
    key = is_causal, window_size, softcap
    if key not in _parts:
        visible = None if not is_causal else causal() if window_size is None else window(window_size - 1, 0)
        _parts[key] = parts_of(modify=() if softcap is None else softcap_of(softcap), mask=visible)
    return _parts[key]


def _made(scaling, layer):
    key = scaling, *layer
    if key not in _made_parts:
        made = parts_for_layer(*layer).made(None)  # these masks do not depend on the shape
        _made_parts[key] = (None if scaling is None else dot(scaling).made(), *made[1:])
    return _made_parts[key]


def attend(
    module,
    query,
    key,
    value,
    attention_mask,
    scaling=None,
    dropout=0.0,
    softcap=None,
    position_bias=None,
    sliding_window=None,
    is_causal=None,
    s_aux=None,
    output_attentions=False,
    **kwargs,
):
    """For transformers: (output (B, T, H, E), weights or None)."""
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    is_padding = attention_mask is None or attention_mask.dim() == 2  # (B, S); a table has the whole mask
    layer = (
        (bool(is_causal), sliding_window if is_causal else None, softcap) if is_padding else (False, None, softcap)
    )
    parts = parts_for_layer(*layer)
    query, key, value = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
    if (
        attention_mask is position_bias is s_aux is None
        and not output_attentions
        and not (dropout and module.training)
        and needs_no_tape(query, key, value)
    ):
        return without_gradients(query, key, value, _made(scaling, layer)).transpose(1, 2).contiguous(), None
    table = bias = None
    if attention_mask is not None:
        given = attention_mask[:, None, None] if is_padding else attention_mask
        if given.dtype == torch.bool:
            table = given
        else:
            bias = given.float()
    if position_bias is not None:
        bias = position_bias.float() if bias is None else bias + position_bias
    if s_aux is not None:
        parts = parts_of(modify=parts.modify, mask=parts.mask, normalize=softmax_with_sink(s_aux.float()))
    call = Call(
        parts, table, None if bias is None else bias.contiguous(), scaling, dropout if module.training else 0.0
    )
    out = call(query, key, value).transpose(1, 2).contiguous()
    return out, call.weights_and_lse(query, key, value)[0] if output_attentions else None
