"""Training with qkv.torch by Ray Train: workers on one machine or many, which start again when one of them fails.

    python example/cluster/ray_train.py 2 FOLDER [STEP]

The numbers are workers and, to try it, a step at which a worker fails once; FOLDER is one that all of them see. The
workers are processes of PyTorch (gloo), and DistributedDataParallel trains two layers of qkv.torch.attention; each
continues from the last checkpoint. A batch has the same sentences for any number of workers.
"""

import os
import pathlib
import sys
import tempfile

import ray
import torch
from ray import train
from ray.train.torch import TorchTrainer, prepare_model

import qkv
import qkv.torch

STEPS, BATCH, LENGTH, WORDS = 12, 8, 24, 32


class Block(torch.nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.norm, self.heads = torch.nn.LayerNorm(width), heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
        y = qkv.torch.attention(q, k, v, mask=qkv.causal())
        return x + self.out(y.transpose(1, 2).flatten(2))


def sentences(step, rank, workers):
    """Those of a worker: the next word is the one before plus a number that is the same in all of the sentence."""
    index = step * BATCH + torch.arange(rank, BATCH, workers)[:, None]
    return (index + torch.arange(LENGTH + 1) * (1 + index % 3)) % WORDS


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Embedding(WORDS, 32), Block(), Block(), torch.nn.Linear(32, WORDS))


def loss_of(model, words):
    return torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())


def work(config):
    qkv.set_threads(config["threads"])  # by itself a process has one for each core
    rank, workers = train.get_context().get_world_rank(), train.get_context().get_world_size()
    model = prepare_model(make_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    begin = 0
    if checkpoint := train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            state = torch.load(pathlib.Path(folder, "state.pt"), weights_only=True)
        begin = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for step in range(begin, STEPS):
        failed = pathlib.Path(config["folder"], "failed")
        if step == config["fail_at"] and rank == workers - 1 and not failed.exists():
            failed.touch()
            raise RuntimeError("this worker fails, once")
        loss = loss_of(model, sentences(step, rank, workers))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        metrics = {"step": step + 1, "loss": mean.item() / workers}
        with tempfile.TemporaryDirectory() as folder:
            if rank == 0:
                state = {"step": step + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, pathlib.Path(folder, "state.pt"))
                with open(pathlib.Path(config["folder"], "losses.txt"), "a") as log:
                    log.write(f"step {metrics['step']} loss {metrics['loss']:.5f}\n")
            train.report(metrics, checkpoint=train.Checkpoint.from_directory(folder) if rank == 0 else None)


def main(workers, folder, fail_at=None):
    threads = max(1, (os.cpu_count() or 1) // workers)
    ray.init(num_cpus=workers * threads)
    result = TorchTrainer(
        work,
        train_loop_config={"threads": threads, "folder": folder, "fail_at": fail_at},
        scaling_config=train.ScalingConfig(num_workers=workers, resources_per_worker={"CPU": threads}),
        run_config=train.RunConfig(
            name="qkv", storage_path=folder, failure_config=train.FailureConfig(max_failures=3)
        ),
    ).fit()
    print(f"{workers} workers: step {result.metrics['step']} loss {result.metrics['loss']:.5f}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve()), int(sys.argv[3]) if len(sys.argv) > 3 else None
    )
