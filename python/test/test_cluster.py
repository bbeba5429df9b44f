"""The programs of example/cluster that run in Python write what the translator says, line by line."""

import gzip
import importlib.util
import json
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


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_a_column_is_translated_row_by_row(suffix, trained, translator, tmp_path):
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        pytest.skip("without pyarrow")
    texts = [None if i % 50 == 7 else " ".join(words[d] for d in str(7919 * i % 1000)) for i in range(5000)]
    rows = [{"id": i, "text": text} for i, text in enumerate(texts)]
    source, output = str(tmp_path / f"in{suffix}"), str(tmp_path / f"out{suffix}")
    write_rows(rows, source)
    program = programs[0].parent / "translate_column.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(program), str(trained.model), source, output]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    answers = iter(translator.translate([text for text in texts if text is not None]))
    expected = [{**row, "translation": None if row["text"] is None else next(answers).text} for row in rows]
    assert read_rows(output) == expected
    assert {path.name for path in tmp_path.iterdir()} == {f"in{suffix}", f"out{suffix}"}
    ran = subprocess.run(
        [*command[:-1], str(tmp_path / "out.txt")], env=environment, capture_output=True, text=True
    )
    assert ran.returncode != 0 and "must both end in one of" in ran.stderr


def write_rows(rows, path):
    if path.endswith(".parquet"):
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return
    with gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read_rows(path):
    if path.endswith(".parquet"):
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path).to_pylist()
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        return [json.loads(line) for line in file]
