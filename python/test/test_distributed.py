"""Training with qkv.torch by several processes of PyTorch (gloo): the losses of one process, whichever way they
divide the work, and after a failure."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("without torch", allow_module_level=True)

examples = pathlib.Path(__file__).parents[2] / "example" / "cluster"


def output(program, processes, *arguments):
    environment = {
        **{name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts", "1"]
    ran = subprocess.run(
        [*torchrun, "--nproc-per-node", str(processes), str(examples / program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def losses_in(text, count):
    steps = [int(step) for step in re.findall(r"^step (\d+) ", text, re.MULTILINE)]
    assert steps == list(range(1, count + 1))
    return [float(loss) for loss in re.findall(r" loss ([\d.]+)$", text, re.MULTILINE)]


def losses(folder, kind, processes, *arguments):
    folder.mkdir()
    text = output("torch_parallel.py", processes, kind, str(folder), *arguments)
    assert f"{processes} processes of " in text
    return losses_in(text, 12)


@pytest.fixture(scope="module")
def of_one_process(tmp_path_factory):
    found = losses(tmp_path_factory.mktemp("one") / "ddp", "ddp", 1)
    assert found[-1] < 0.5 * found[0]
    return found


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_have_the_losses_of_one(kind, of_one_process, tmp_path):
    assert losses(tmp_path / kind, kind, 2) == pytest.approx(of_one_process, abs=2e-4)


def test_a_failed_process_is_started_again_and_the_losses_are_the_same(of_one_process, tmp_path):
    assert losses(tmp_path / "ddp", "ddp", 2, "5") == pytest.approx(of_one_process, abs=2e-4)


def test_a_sequence_over_processes_has_the_losses_of_one():
    one, two = (output("torch_long_sequence.py", processes, "1024") for processes in (1, 2))
    assert losses_in(two, 8) == pytest.approx(losses_in(one, 8), abs=2e-4)
    assert "2 processes, 512 tokens each\nring: 65536 bytes in the forward" in two


def test_workers_of_ray_train_have_the_losses_of_one_process_also_after_a_failure(tmp_path, monkeypatch):
    if importlib.util.find_spec("ray") is None:
        pytest.skip("without ray")
    import torch

    monkeypatch.syspath_prepend(str(examples))
    program = importlib.import_module("ray_train")
    model = program.make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    one = []
    for step in range(program.STEPS):
        loss = program.loss_of(model, program.batch_of(step, 0, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        one.append(loss.item())
    assert one[-1] < 0.6 * one[0]

    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(examples / "ray_train.py"), "2", str(tmp_path), "5"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "2 workers: step 12 loss " in ran.stdout
    assert (tmp_path / "failed").exists()
    assert losses_in((tmp_path / "losses.txt").read_text(), 12) == pytest.approx(one, abs=2e-4)
