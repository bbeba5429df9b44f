"""Training with qkv.torch by several processes of PyTorch: DistributedDataParallel or FSDP2.

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
    torchrun --standalone --nproc-per-node 2 --max-restarts 3 example/cluster/torch_parallel.py ddp FOLDER

Several machines: --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT, and a FOLDER that all of them
see. When a process dies, torchrun ends the others and starts all of them again; they continue from the last
checkpoint. (The variable gives them a new store of addresses: gloo looks for the processes that died in the
old one, seen with PyTorch 2.15.) A batch has the same sentences for any number of processes.
"""

import os
import pathlib
import sys

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

import qkv
import qkv.torch

STEPS, BATCH, LENGTH, WORDS = 12, 8, 24, 32


class Block(torch.nn.Module):
    """Causal attention with ALiBi, whose slopes are trained too."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.norm, self.heads = torch.nn.LayerNorm(width), heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.slopes = torch.nn.Parameter(0.5 ** torch.arange(1, heads + 1.0))

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
        y = qkv.torch.attention(q, k, v, mask=qkv.causal(), modify=[qkv.alibi(self.slopes)])
        return x + self.out(y.transpose(1, 2).flatten(2))


class Sentences(torch.utils.data.Dataset):
    """The next word is the one before plus a number that is the same in all of the sentence."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        return (index + torch.arange(LENGTH + 1) * (1 + index % 3)) % WORDS


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Embedding(WORDS, 32), Block(), Block(), torch.nn.Linear(32, WORDS))


def loss_of(model, words):
    return torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())


def distributed(model, kind, processes):
    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (processes,))
    for part in model:
        if isinstance(part, Block):
            torch.distributed.fsdp.fully_shard(part, mesh=mesh)
    return torch.distributed.fsdp.fully_shard(model, mesh=mesh)


def main(kind, folder, fail_at=None):
    torch.distributed.init_process_group("gloo")
    rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = distributed(make_model(), kind, processes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    checkpoint = pathlib.Path(folder, "checkpoint.pt")
    begin = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        begin = state["step"]
        set_state_dict(
            model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"], options=whole
        )

    sentences = Sentences()
    sampler = torch.utils.data.DistributedSampler(sentences, shuffle=False)
    loader = torch.utils.data.DataLoader(
        sentences, batch_size=BATCH // processes, sampler=sampler, num_workers=1, multiprocessing_context="fork"
    )
    for step, words in enumerate(loader):
        if step < begin:
            continue
        if step == fail_at and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and rank == processes - 1:
            sys.exit("this process fails, once")
        loss = loss_of(model, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weights, moments = get_state_dict(model, optimizer, options=whole)  # by all processes
        if rank == 0:
            torch.save({"step": step + 1, "model": weights, "optimizer": moments}, f"{checkpoint}.tmp")
            os.replace(f"{checkpoint}.tmp", checkpoint)
        loss = loss.detach()
        torch.distributed.all_reduce(loss)
        if rank == 0:
            print(f"step {step + 1} loss {loss.item() / processes:.5f}", flush=True)
    if rank == 0:
        print(f"{processes} processes of {qkv.threads()} threads", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
