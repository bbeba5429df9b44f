"""Models of Hugging Face's transformers with this attention.

    qkv.huggingface.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="qkv")

For the forward, generate() and training, on the CPU, in float32 and bfloat16. Causal masks, windows and padding never
become a table of (B, 1, T, S): what a model says of them is told to the engine as it is; only other masks are tables.
Families that do not ask transformers for their attention (Falcon, BLOOM, GPT-J, GPT-Neo, DeBERTa, MPT, XLNet,
Longformer, BigBird, LED) are not changed, or worse: check() says so.
"""

import sys

import torch

from ._attention import parts_of
from ._masks import causal, window
from ._operator import Call, goes_straight, straight
from ._parts import dot, sink
from ._parts import softcap as softcap_of

__all__ = ["check", "register"]


def register(name="qkv"):
    """Makes attn_implementation=name mean this attention."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, mask)  # without it models would drop their masks in silence


def check(model):
    """ValueError for a model whose attention is its own: it would go on as before, or worse (BLOOM reads our mask as numbers)."""
    for layer in model.modules():
        kind = type(layer)
        of_a_family = kind.__module__.startswith(("transformers.models.", "transformers_modules."))
        if of_a_family and "Attention" in kind.__name__ and not hasattr(sys.modules[kind.__module__], "ALL_ATTENTION_FUNCTIONS"):
            raise ValueError(f"a {model.config.model_type} model has attention of its own, {kind.__name__}, which transformers does "
                             "not let others replace")


def mask(batch_size=None, q_length=None, kv_length=None, q_offset=0, kv_offset=0, mask_function=None, attention_mask=None, **more):
    """For transformers: the padding (B, S) alone where attend() can do the rest, None where there is none, else a table."""
    from transformers.masking_utils import sdpa_mask

    if _is_told(mask_function, more) and _ends_together(q_length, kv_length, q_offset, kv_offset, mask_function):
        if attention_mask is None or not torch.compiler.is_compiling() and attention_mask.all():
            return None
        seen = attention_mask[:, kv_offset : kv_offset + kv_length]
        missing = kv_length - seen.shape[1]
        return torch.nn.functional.pad(seen, (0, missing), value=False) if missing else seen
    more.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    return sdpa_mask(batch_size=batch_size, q_length=q_length, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset,
                     mask_function=mask_function, attention_mask=attention_mask, **more)


def _is_told(function, more):
    """Whether a layer tells attend() all that this mask says: causal, with a window or without, or neither."""
    from transformers import masking_utils as theirs

    if more.get("use_vmap"):
        return False
    if function in (theirs.causal_mask_function, theirs.bidirectional_mask_function):
        return True
    # A causal window is a closure over two functions, and the second one over the width of the window.
    if getattr(function, "__qualname__", "").startswith("and_masks."):
        parts = [part for cell in function.__closure__ or () for part in _as_tuple(cell.cell_contents) if callable(part)]
        others = [part for part in parts if part is not theirs.causal_mask_function]
        return len(parts) == 2 and len(others) == 1 and others[0].__qualname__.startswith("sliding_window_overlay.")
    return False


def _as_tuple(x):
    return x if isinstance(x, (tuple, list)) else (x,)


def _ends_together(q_length, kv_length, q_offset, kv_offset, function):
    """The last query stands on the last key, as everywhere in this library; who looks both ways does not mind."""
    from transformers.masking_utils import bidirectional_mask_function

    if function is bidirectional_mask_function:
        return True
    return int(q_offset) + q_length == int(kv_offset) + kv_length


_parts, _objects = {}, {}  # of layers, by what the layers tell: the parts, and what the extension module makes of them


@torch.compiler.assume_constant_result
def _told(looks_back, window_, softcap):
    key = looks_back, window_, softcap
    if key not in _parts:
        who = None if not looks_back else causal() if window_ is None else window(window_ - 1, 0)
        _parts[key] = parts_of(None, () if softcap is None else softcap_of(softcap), who, None, (), 0.0, None, None)
    return _parts[key]


def _made(scaling, who):
    key = scaling, *who
    if key not in _objects:
        made = _told(*who).made(None)  # these masks do not depend on the shape
        _objects[key] = (None if scaling is None else dot(scaling).made(), *made[1:])
    return _objects[key]


def attend(module, query, key, value, attention_mask, scaling=None, dropout=0.0, softcap=None, position_bias=None,
           sliding_window=None, is_causal=None, s_aux=None, output_attentions=False, **kwargs):
    """For transformers: (output (B, T, H, E), weights or None)."""
    looks_back = getattr(module, "is_causal", True) if is_causal is None else is_causal
    told = attention_mask is None or attention_mask.dim() == 2
    who = (bool(looks_back), sliding_window if looks_back else None, softcap) if told else (False, None, softcap)
    parts = _told(*who)
    query, key, value = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
    if attention_mask is position_bias is s_aux is None and not output_attentions and goes_straight(query, key, value):
        if not (dropout and module.training):
            return straight(query, key, value, _made(scaling, who)).transpose(1, 2).contiguous(), None
    table = bias = None
    if attention_mask is not None:
        given = attention_mask[:, None, None] if told else attention_mask
        if given.dtype == torch.bool:
            table = given
        else:
            bias = given.float()
    if position_bias is not None:
        bias = position_bias.float() if bias is None else bias + position_bias
    if s_aux is not None:
        parts = parts_of(None, parts.modify, parts.mask, sink(s_aux.float()), (), 0.0, None, None)
    call = Call(parts, table, None if bias is None else bias.contiguous(), scaling, dropout if module.training else 0.0)
    out = call(query, key, value).transpose(1, 2).contiguous()
    return out, call.weights(query, key, value)[0] if output_attentions else None
