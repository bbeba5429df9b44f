#!/usr/bin/env python3
"""A training step of GPT-2 small in plain PyTorch, beside build/bench/train_bench --recipe gpt2-small: 12 layers of
768, 12 heads, a vocabulary of 50,257, rows of 1,024 tokens, fused Adam.

    python3 bench/gpt2_pytorch.py --threads 2                # f32 and bf16 autocast, eager and compiled
    python3 bench/gpt2_pytorch.py --only compiled --precision f32 --repeat 3

Prints a line of JSON for each, as train_bench --json does; resident_mb is the peak of all so far: ask for one alone
to know it. Needs torch, and a C++ compiler for torch.compile.
"""

import argparse
import contextlib
import json
import resource
import statistics
import time

import torch
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, LAYERS, T = 50_257, 768, 12, 12, 1024


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(T, WIDTH)
        torch.nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, ids, targets):
        x = self.norm(self.blocks(self.tokens(ids) + self.positions.weight))
        return F.cross_entropy((x @ self.tokens.weight.T).flatten(0, 1), targets.flatten())


def measure(model, loss, precision, rows, repeat):
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    autocast = torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    seconds = []
    for _ in range(repeat + 1):  # the first warms up
        ids = torch.randint(VOCABULARY, (rows, T + 1))
        begin = time.perf_counter()
        with autocast:
            value = loss(ids[:, :-1], ids[:, 1:])
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["eager", "compiled"])
    parser.add_argument("--precision", choices=["f32", "bf16"])
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    for precision in [args.precision] if args.precision else ["f32", "bf16"]:
        for how in [args.only] if args.only else ["eager", "compiled"]:
            model = Gpt2()
            loss = torch.compile(model) if how == "compiled" else model
            step = measure(model, loss, precision, args.rows, args.repeat)
            result = {
                "model": f"PyTorch {torch.__version__}, {how}",
                "precision": precision,
                "ms": 1000 * step,
                "tokens_per_s": args.rows * T / step,
                "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
            print(json.dumps(result), flush=True)


main()
