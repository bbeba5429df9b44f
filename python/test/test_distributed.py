"""Training with qkv.torch by two processes of PyTorch (gloo): the losses of one process, whichever way they
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

program = pathlib.Path(__file__).parents[2] / "example" / "cluster" / "torch_parallel.py"


def losses(folder, kind, processes, *arguments):
    folder.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts", "1"]
    ran = subprocess.run(
        [*torchrun, "--nproc-per-node", str(processes), str(program), kind, str(folder), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert f"{processes} processes of " in ran.stdout
    steps = [int(step) for step in re.findall(r"^step (\d+) ", ran.stdout, re.MULTILINE)]
    assert steps == list(range(1, 13))
    return [float(loss) for loss in re.findall(r" loss ([\d.]+)$", ran.stdout, re.MULTILINE)]


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
