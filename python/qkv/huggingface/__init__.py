"""Models of Hugging Face's transformers with this attention.

    qkv.huggingface.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="qkv")

    model = qkv.huggingface.patch(AutoModelForCausalLM.from_pretrained("tiiuae/falcon-7b"))

For the forward, generate() and training, on the CPU, in float32 and bfloat16. Causal masks, sliding windows and
padding never become a table (B, 1, T, S); only other masks do.

Families with an attention of their own ignore attn_implementation, or fail. patch() replaces the attention modules
of Falcon, BLOOM, Longformer and BigBird by fused ones with the same weights. For the others (GPT-J, GPT-Neo,
DeBERTa, MPT, XLNet, LED) check() raises.
"""

from ._interface import attend, mask, register
from ._patch import check, patch

__all__ = ["attend", "check", "mask", "patch", "register"]
