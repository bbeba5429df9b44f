#!/usr/bin/env python3
"""Multi-token attention composed from PyTorch's operations: what multi_token_bench is compared with.

    python3 bench/multi_token_peers.py                    # the shapes of multi_token_bench; needs torch
    python3 bench/multi_token_peers.py --repeat 20 --threads 2

Prints the fastest and the median of the forward, and of forward and backward, in milliseconds.
"""

import argparse
import statistics
import sys
import time

SHAPES = [(1, 16, 512, 64), (16, 8, 128, 64)]  # B, H, T, D
QUERIES, KEYS = 6, 11  # of both convolutions


def attention(torch, q, k, v, pre_conv, pre_mix, post_conv, post_head):
    functional = torch.nn.functional
    _, H, T, D = q.shape
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)

    def convolve(x, kernel):
        padded = functional.pad(x, ((KEYS - 1) // 2, (KEYS - 1) // 2, QUERIES - 1, 0))
        return functional.conv2d(padded, kernel, groups=H)

    a = (q @ k.transpose(2, 3)) * D**-0.5
    a = convolve(a.masked_fill(hidden, 0.0), pre_conv)
    a = torch.einsum("gh,bhts->bgts", pre_mix, a)
    p = torch.softmax(a.masked_fill(hidden, float("-inf")), dim=-1)
    p = convolve(p, post_conv).masked_fill(hidden, 0.0)
    groups = p.unflatten(1, post_head.shape[:2])
    return torch.einsum("nho,bnhts->bnots", post_head, groups).flatten(1, 2) @ v


def inputs(torch, B, H, T, D):
    torch.manual_seed(5)
    shapes = [(B, H, T, D)] * 3 + [(H, 1, QUERIES, KEYS), (H, H), (H, 1, QUERIES, KEYS), (H // 2, 2, 2)]
    spreads = [1, 1, 1, 0.1, 0.25, 0.1, 0.5]
    return [(torch.randn(shape) * spread).requires_grad_() for shape, spread in zip(shapes, spreads)]


def milliseconds(call, repeat):
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times), statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as PyTorch takes")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("multi_token_peers.py: torch is not installed: pip install torch")
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    for shape in SHAPES:
        x = inputs(torch, *shape)
        upstream = torch.randn(shape)

        def forward():
            with torch.no_grad():
                attention(torch, *x)

        def both():
            for leaf in x:
                leaf.grad = None
            attention(torch, *x).backward(upstream)

        name = "B {} H {} T {} D {}".format(*shape)
        for direction, call in (("forward", forward), ("forward and backward", both)):
            fastest, median = milliseconds(call, options.repeat)
            print(f"{name:<24}  {direction:<21}  {fastest:9.2f} min  {median:9.2f} median", flush=True)


if __name__ == "__main__":
    main()
