"""The programs of example/cluster that run in Python write what the translator says, line by line."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import words

programs = sorted((pathlib.Path(__file__).parents[2] / "example" / "cluster").glob("*_translate.py"))
engines = {"ray_translate": "ray", "spark_translate": "pyspark", "dask_translate": "dask"}
arguments = {"ray_translate": ["2"], "spark_translate": ["3"], "dask_translate": ["700B"]}


@pytest.mark.parametrize("program", programs, ids=lambda path: path.stem)
def test_writes_the_same_bytes_as_the_translator(program, trained, translator, tmp_path):
    engine = engines[program.stem]
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"without {engine}")
    numbers = [" ".join(words[d] for d in str(7919 * i % 1000)) for i in range(300)]
    numbers[17] = ""
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in numbers))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(program), str(trained.model), "in.txt", "out.txt", *arguments[program.stem]]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    expected = "".join(f"{answer.text}\n" for answer in translator.translate(numbers))
    assert (tmp_path / "out.txt").read_text() == expected
