"""The notebooks of the chapters (doc/learn/notebooks.py) run from top to bottom and print what the pages show."""

import ast
import importlib.util
import os
import pathlib
import re
import sys

import pytest

needs = "to execute notebooks: pip install nbclient nbformat ipykernel"
nbformat = pytest.importorskip("nbformat", reason=needs)
nbclient = pytest.importorskip("nbclient", reason=needs)
pytest.importorskip("ipykernel", reason=needs)

path = pathlib.Path(__file__).parents[2] / "doc" / "learn" / "notebooks.py"
spec = importlib.util.spec_from_file_location("notebooks", path)
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)
chapters = notebooks.chapters()
by_name = pytest.mark.parametrize("page", chapters, ids=lambda page: page.stem)


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


def test_every_page_is_listed():
    assert {page.name for page in path.parent.glob("*.md")} == {page.name for page in chapters} | {"README.md"}


@by_name
def test_has_all_fragments_and_formulas_of_the_page(page):
    notebook = nbformat.from_dict(notebooks.notebook(page))
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    source = page.read_text()
    assert len(code) + text.count("```python") == source.count("```python")
    assert text.count("$$") == 2 * source.count("```math") and text.count("```cpp") == source.count("```cpp")
    assert "](picture/" not in text and ".md)" not in text and "<iframe" not in text
    for cell in notebook.cells:
        assert cell.source.count("<details>") == cell.source.count("</details>")
        attached = re.findall(r"\(attachment:([^)]+)\)", cell.source)
        assert sorted(set(attached)) == sorted(cell.get("attachments", {}))
    for cell in code:
        ast.parse(cell.source)


@by_name
def test_prints_what_the_page_shows(page, tmp_path):
    made = nbformat.from_dict(notebooks.notebook(page))
    run = nbformat.from_dict(notebooks.notebook(page))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    client = nbclient.NotebookClient(
        run, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=environment)
    shown = [(cell.id, printed(cell)) for cell in made.cells if cell.cell_type == "code" and cell.outputs]
    found = {cell.id: printed(cell) for cell in run.cells if cell.cell_type == "code"}
    assert shown and all(found[name] == text for name, text in shown)
