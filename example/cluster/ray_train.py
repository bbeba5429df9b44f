"""Training with qkv.torch by Ray Train: workers on one machine or many, which start again when one of them fails.

    python example/cluster/ray_train.py 2 FOLDER [STEP]

The numbers are workers and, to try it, a step at which a worker fails once; FOLDER is one that all of them see. The
workers are processes of PyTorch (gloo), and DistributedDataParallel trains the model of torch_parallel.py; each
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
from torch_parallel import BATCH, STEPS, Sentences, loss_of, make_model

import qkv


def batch_of(step, rank, workers):
    """The sentences of a worker."""
    sentences = Sentences()
    return torch.stack([sentences[step * BATCH + i] for i in range(rank, BATCH, workers)])


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
        loss = loss_of(model, batch_of(step, rank, workers))
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
