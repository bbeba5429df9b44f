"""The programs of example/python, and example/quickstart/quickstart.py, do what they say."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

examples = pathlib.Path(__file__).parents[2] / "example"
programs = [*sorted((examples / "python").glob("*.py")), examples / "quickstart" / "quickstart.py"]
prints = {
    "first_call": ["(1, 4, 12, 16) the last query attends to keys [ 7  8  9 10 11]"],
    "custom_mask": ["step 1: loss 2.", "step 150: loss 0.0", "100% right"],
    "mistral": ["the same tokens: True", "gradients: 21 of 21"],
    "kernel_regression": ["Epanechnikov is 0.1", "width 3.0 is 0."],
    "valid_lengths": ["additive: [2.0, 3.0, 4.0, 5.0] [10.0, 11.0, 12.0, 13.0]"],
    "flex_attention": ["equal to a bias and masks: True", "gradient of the table: (2, 127)"],
    "heads": ["250 steps", "100 of 100 right"],
    "quickstart": ["seven two five: 725", "query 6 sees keys [0 3 6] with weights [0.13 0.11 0.75]"],
}
draws = {
    "kernel_regression": ["kernels.svg", "widths.svg"],
    "valid_lengths": ["lengths.svg"],
    "heads": ["heads.html", "heads.svg"],
    "quickstart": ["quickstart/cross-attention.svg", "quickstart/weights.svg"],
}


def imports(path):
    """The modules that a program cannot do without: an import in a try block is optional."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (
                (node.module or "").split(".")[:1]
                if isinstance(node, ast.ImportFrom)
                else [a.name.split(".")[0] for a in node.names]
            )


@pytest.mark.parametrize("path", programs, ids=lambda path: path.stem)
def test_runs(path, tmp_path):
    for module in sorted(set(imports(path))):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"without {module}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for text in prints[path.stem]:
        assert text in ran.stdout
    for picture in draws.get(path.stem, []):
        assert (tmp_path / picture).stat().st_size > 1000
