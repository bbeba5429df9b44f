"""A model of Hugging Face, Mistral with its sliding window, with the attention of qkv."""

import torch
from transformers import MistralConfig, MistralForCausalLM

import qkv.huggingface

torch.manual_seed(1)
config = MistralConfig(
    vocab_size=300,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    sliding_window=8,
)
model = MistralForCausalLM(config).eval()  # or .from_pretrained(..., attn_implementation="qkv")
ids = torch.randint(300, (2, 40))
options = dict(attention_mask=torch.ones_like(ids), pad_token_id=0, max_new_tokens=10, do_sample=False)

before = model(ids).logits
written = model.generate(ids, **options)

qkv.huggingface.register()
model.set_attn_implementation("qkv")
print(f"logits differ by {(model(ids).logits - before).abs().max():.0e}")
print("the same tokens:", torch.equal(model.generate(ids, **options), written))

model.train()(ids, labels=ids, use_cache=False).loss.backward()
parameters = list(model.parameters())
print(f"gradients: {sum(p.grad is not None for p in parameters)} of {len(parameters)} parameters have one")
