"""The programs of bench/ still run: one iteration of each, where what they compare with is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import small

bench = Path(__file__).parents[2] / "bench"


def run(name, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, str(bench / name), *map(str, arguments)]
    ran = subprocess.run(program, capture_output=True, text=True, cwd=bench.parent, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_multi_token_peers():
    pytest.importorskip("torch")
    assert "median" in run("multi_token_peers.py", "--repeat", 1)


def test_transformers_peers():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    assert "| llama |" in run("transformers_peers.py", "--models", "llama", "--steps", "decode", "--seconds", 0.1)


def test_published_models():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    assert "t5" in run("published_models.py", "--models", "t5", "--repeats", 1, "--new-tokens", 2)


def test_train_pytorch(pairs_file, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sentencepiece")
    import qkv

    options = {**small, "tie": "all", "positions": "sinusoidal", "hold_out": 5, "max_steps": 2, "report_every": 1}
    qkv.train(model=tmp_path / "m", train=pairs_file, **options)
    assert run("train_pytorch.py", "--model", tmp_path / "m", "--out", tmp_path / "p", "--steps", 1)


def built(name):
    program = next((p for p in bench.parent.glob(f"build*/{name}") if os.access(p, os.X_OK)), None)
    if program is None:
        pytest.skip(f"{name} is not built")
    return program


def test_hostile_lines():
    model = bench.parent / "test" / "checkpoints" / "gpt2"
    table = run(
        "hostile_lines.py", "--qkv", built("cli/qkv"), model, "--kinds", "word,marks", "--commands", "embed"
    )
    assert [line.split()[:2] for line in table.splitlines()].count(["gpt2", "embed"]) == 2


def test_attention_peers():
    pytest.importorskip("torch")
    program = built("bench/attention_bench")
    arguments = (
        "--bench",
        program,
        "--rounds",
        1,
        "--seconds",
        0.01,
        "--dtypes",
        "fp32",
        "--directions",
        "forward",
    )
    assert "torch" in run("attention_peers.py", *arguments, "--cases", "causal_2k_d64").lower()
