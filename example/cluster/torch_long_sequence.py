"""Training on a sequence that is too long for one process: each has a part of its tokens, attention sees all.

    torchrun --standalone --nproc-per-node 4 example/cluster/torch_long_sequence.py 4096

Several machines: --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT. The number is the length. What a layer
does token by token needs no other process; gradients of weights are summed.
"""

import sys

import torch
import torch.distributed as dist

import qkv
import qkv.torch

STEPS, WORDS, WIDTH, HEADS, WINDOW = 8, 32, 32, 4, 256


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x, mask, layout):
        q, k, v = (p.unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
        y = qkv.torch.distributed_attention(q, k, v, mask=mask, layout=layout)
        return x + self.out(y.transpose(1, 2).flatten(2))


class Model(torch.nn.Module):
    def __init__(self, length):
        super().__init__()
        self.words, self.positions = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(length, WIDTH)
        self.blocks, self.out = torch.nn.ModuleList([Block(), Block()]), torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words, positions, mask, layout):
        x = self.words(words) + self.positions(positions)
        for block in self.blocks:
            x = block(x, mask, layout)
        return self.out(x)


def main(length):
    dist.init_process_group("gloo")
    rank, processes = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    words = torch.randint(WORDS, (1, length // 2 + 1)).repeat(1, 2)[:, : length + 1]  # the second half is the first
    model = Model(length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    # The window reaches WINDOW tokens back: only these keys are sent over a border.
    mask = qkv.causal() & qkv.window(WINDOW, 0)
    layout = qkv.torch.contiguous_layout(length, processes)
    positions = layout.positions(rank)
    mine, next_words = words[:, positions], words[:, positions + 1]
    for step in range(STEPS):
        logits = model(mine, positions, mask, layout)
        loss = (
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), next_words.flatten(), reduction="sum") / length
        )
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss)
        if rank == 0:
            print(f"step {step + 1} loss {loss.item():.5f}", flush=True)

    heads = torch.zeros(1, HEADS, len(positions), WIDTH // HEADS)
    plan = qkv.torch.distributed_plan(heads, heads, heads, mask=mask, layout=layout)
    if rank == 0:
        print(f"{processes} processes, {len(positions)} tokens each\n{plan}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]))
