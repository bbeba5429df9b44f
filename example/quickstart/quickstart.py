"""The first hour with qkv, in Python: training, translation, a picture of cross-attention, and attention with a
mask and a score modification of your own, with gradients.

    python quickstart.py FOLDER          # writes the pairs, the model and the pictures there
"""

import pathlib
import sys

import numpy as np

import qkv

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "quickstart")
folder.mkdir(exist_ok=True)

# Sentence pairs, one on a line: source, tab, target.
words = "zero one two three four five six seven eight nine".split()
with open(folder / "pairs.tsv", "w") as file:
    for n in range(1000):
        print(words[n // 100], words[n // 10 % 10], words[n % 10], end=f"\t{n:03}\n", file=file)

# Train.
result = qkv.train(
    model=folder / "model",
    train=folder / "pairs.tsv",
    hold_out=100,
    recipe="transformer-tiny",
    d_model=64,
    ffn=128,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0,
    tie="none",
    tokenizer="character",
    schedule="inverse-sqrt",
    learning_rate=3e-3,
    warmup=50,
    batch_tokens=600,
    max_steps=250,
    overwrite=True,
    quiet=True,
)
print(f"perplexity {result.validation.perplexity:.2f} on held-out pairs")

# Translate, and draw the cross-attention of the last layer.
translator = qkv.Translator(folder / "model")
print("seven two five:", translator.translate("seven two five"))
cross = translator.inspect("seven two five").attention[2]
picture = qkv.heatmap(cross.layers[-1], cross.rows, cross.columns, title="seven two five")
picture.save(folder / "cross-attention.svg")

# Attention with a mask and a score modification of your own.
every_third = qkv.mask_mod(lambda b, h, i, j: (i - j) % 3 == 0)
recency = qkv.score_mod(lambda s, b, h, i, j: s - 0.1 * abs(i - j), backward=lambda ds, s, b, h, i, j: ds)
x = np.random.default_rng(1).standard_normal((1, 2, 24, 8)).astype(np.float32)  # (B, H, T, D)
out, weights = qkv.attention(x, x, x, mask=qkv.causal() & every_third, modify=[recency], return_weights=True)
print("query 6 sees keys", np.flatnonzero(weights[0, 0, 6]), "with weights", weights[0, 0, 6, [0, 3, 6]].round(2))
qkv.heatmap(weights[0], title="every third key, the nearer the heavier").save(folder / "weights.svg")

# The same with gradients, where PyTorch is installed.
try:
    import torch
except ImportError:
    sys.exit()
q = torch.tensor(x, requires_grad=True)
k = v = torch.tensor(x)
qkv.torch.attention(q, k, v, mask=qkv.causal() & every_third, modify=[recency]).sum().backward()
print("the gradient of q is", tuple(q.grad.shape))
