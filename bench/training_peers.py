#!/usr/bin/env python3
"""Training steps of the encoder-decoder Transformer beside PyTorch: the same shapes, the same lengths of
sentences.

    python3 bench/training_peers.py                                        # a quarter of an hour
    python3 bench/training_peers.py --recipes tiny --precisions bf16 --rounds 3

A step is the forward pass, label-smoothed cross-entropy, the backward pass, the norm of the gradient and Adam.
PyTorch runs torch.nn.Transformer and a model written by hand on scaled_dot_product_attention with logits of
real tokens alone, both eager and compiled, and fused Adam. Every program is a process of its own, and they take
turns, round after round; of the rounds the best counts. qkv in bf16 is compared with the best of PyTorch in
either precision. Printed are target tokens a second, and the peak of resident memory less an idle Python's.

Needs build/bench/train_bench, torch from PyPI, and a C++ compiler for torch.compile.
"""

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import tempfile
import time

from peer_processes import RECIPES, command_of, fastest, options_of, resident_mb, run_job, speed

TARGET_TOKENS, BATCHES = {"tiny": 4096, "base": 2048}, {"tiny": 6, "base": 2}
VARIANTS = ("nn-eager", "nn-compiled", "sdpa-eager", "sdpa-compiled")
PAD, BOS, EOS = 0, 1, 2
POSITIONS = 64
DROPOUT = 0.1


def batches(name):
    """Lengths (source, target) like those of captions, sorted and cut; of all batches some, evenly spread."""
    draw = random.Random(1)

    def clip(x):
        return min(40, max(5, round(x)))

    pool = [clip(draw.gammavariate(9, 1.6)) for _ in range(30_000)]
    pool = sorted(((s, clip(s * draw.gauss(1.05, 0.12))) for s in pool), key=lambda pair: pair[::-1])
    cut = [[]]
    for pair in pool:
        if (pair[1] + 1) * (len(cut[-1]) + 1) > TARGET_TOKENS[name]:
            cut.append([])
        cut[-1].append(pair)
    count = BATCHES[name]
    return [cut[(2 * i + 1) * len(cut) // (2 * count)] for i in range(count)]


def positions(width):
    import torch

    angles = torch.arange(POSITIONS)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def model_of(recipe, variant):
    import torch
    from torch import nn
    from torch.nn import functional as F

    width, heads, ffn, layers = recipe["width"], recipe["heads"], recipe["ffn"], recipe["layers"]

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, memory=None, mask=None):
            if memory is None:
                parts = self.qkv(x).chunk(3, -1)
            else:
                w, b = self.qkv.weight, self.qkv.bias
                parts = (F.linear(x, w[:width], b[:width]), *F.linear(memory, w[width:], b[width:]).chunk(2, -1))
            q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=memory is None and mask is None)
            return self.out(y.transpose(1, 2).flatten(2))

    class Layer(nn.Module):
        def __init__(self, cross):
            super().__init__()
            self.attention, self.cross = Attention(), Attention() if cross else None
            self.up, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if cross else 2))
            self.dropout = nn.Dropout(DROPOUT)

        def forward(self, x, mask, memory=None):
            x = self.norms[0](x + self.dropout(self.attention(x, mask=None if self.cross else mask)))
            if self.cross:
                x = self.norms[1](x + self.dropout(self.cross(x, memory, mask)))
            return self.norms[-1](x + self.dropout(self.down(F.relu(self.up(x)))))

    class ByHand(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.ModuleList(Layer(False) for _ in range(layers))
            self.decoder = nn.ModuleList(Layer(True) for _ in range(layers))

        def forward(self, x, padding, y):
            mask = ~padding[:, None, None, :]
            for layer in self.encoder:
                x = layer(x, mask)
            for layer in self.decoder:
                y = layer(y, mask, x)
            return y

    class Stock(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Transformer(width, heads, layers, layers, ffn, DROPOUT, batch_first=True)
            hidden = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).triu(1)
            self.register_buffer("hidden", hidden)

        def forward(self, x, padding, y):
            n = y.shape[1]
            masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
            return self.body(x, y, tgt_mask=self.hidden[:n, :n], tgt_is_causal=True, **masks)

    class Translation(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(recipe["vocabulary"], width, padding_idx=PAD)
            nn.init.normal_(self.embedding.weight, std=width**-0.5)
            self.register_buffer("positions", positions(width))
            self.dropout = nn.Dropout(DROPOUT)
            self.body = (Stock if variant.startswith("nn") else ByHand)()

        def embed(self, ids):
            return self.dropout(self.embedding(ids) * math.sqrt(width) + self.positions[: ids.shape[1]])

        def forward(self, source, padding, target, real, labels):
            y = self.body(self.embed(source), padding, self.embed(target)).flatten(0, 1)
            logits = F.linear(y.index_select(0, real), self.embedding.weight)
            return F.cross_entropy(logits.float(), labels, label_smoothing=0.1)

    return Translation()


def tensors(lengths, vocabulary, draw):
    import torch

    def padded(rows):
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    def ids(length):
        return [draw.randrange(4, vocabulary) for _ in range(length)]

    source = padded([[*ids(s), EOS] for s, _ in lengths])
    texts = [ids(t) for _, t in lengths]
    target = padded([[BOS, *text] for text in texts])
    labels = padded([[*text, EOS] for text in texts]).flatten()
    real = labels.nonzero().flatten()
    return source, source == PAD, target, real, labels[real]


def pytorch_process(job):
    """As train_bench: the first passes warm up, the median of the others counts."""
    idle = resident_mb()
    import torch

    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    recipe = RECIPES[job["recipe"]]
    draw = random.Random(2)
    data = [tensors(lengths, recipe["vocabulary"], draw) for lengths in batches(job["recipe"])]
    model = model_of(recipe, job["variant"]).train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    loss_of = torch.compile(model, dynamic=True) if job["variant"].endswith("compiled") else model
    autocast = torch.autocast("cpu", torch.bfloat16) if job["precision"] == "bf16" else contextlib.nullcontext()
    seconds = []
    for _ in range(2 + job["repeat"]):  # two for the compiler
        begin = time.perf_counter()
        for batch in data:
            with autocast:
                loss = loss_of(*batch)
            loss.backward()
            torch.nn.utils.get_total_norm(p.grad for p in model.parameters())
            adam.step()
            adam.zero_grad()
        seconds.append(time.perf_counter() - begin)
    tokens = sum(len(batch[-1]) for batch in data)
    return {"tokens_per_s": tokens / statistics.median(seconds[2:]), "resident_mb": resident_mb() - idle}


def measure(name, options, file):
    programs = {}
    for precision in options.precisions:
        work = ["--recipe", name, "--precision", precision, "--batches", file, "--threads", str(options.threads)]
        work += ["--vocabulary", str(RECIPES[name]["vocabulary"]), "--repeat", "5", "--json"]
        programs["qkv", precision] = [options.bench, *work]
    for precision in ("f32", "bf16") if "bf16" in options.precisions else ("f32",):
        for variant in options.variants:
            job = {
                "recipe": name,
                "variant": variant,
                "precision": precision,
                "threads": options.threads,
                "repeat": 4,
            }
            programs[variant, precision] = command_of(__file__, job)
    best = fastest(programs, options)
    for precision in options.precisions:
        ours = best["qkv", precision]
        allowed = (precision, "f32")
        (variant, kind), theirs = max(
            ((key, value) for key, value in best.items() if key[0] != "qkv" and key[1] in allowed),
            key=lambda item: speed(item[1]),
        )
        print(
            f"| {name}, {precision} | {speed(ours):,.0f} | {variant}, {kind} | {speed(theirs):,.0f} "
            f"| {speed(ours) / speed(theirs):.2f} "
            f"| {ours['resident_mb']:.0f} of {theirs['resident_mb']:.0f} |",
            flush=True,
        )


def main():
    if run_job(pytorch_process):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--precisions", nargs="+", choices=("f32", "bf16"), default=["f32", "bf16"])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options = options_of(parser, "--bench", "build/bench/train_bench", ("torch",), rounds=2)
    print("| work | tokens/s | PyTorch | tokens/s | faster by | MB resident |")
    print("| --- | --: | --- | --: | --: | --: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "batches.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump({name: {"batches": batches(name)} for name in RECIPES}, out)
        for name in options.recipes:
            measure(name, options, file)


if __name__ == "__main__":
    main()
