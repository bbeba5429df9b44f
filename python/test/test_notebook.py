"""The notebook of example/notebook runs from top to bottom, and shows its curves and heat maps."""

import os
import pathlib
import sys

import pytest

needs = "to execute notebooks: pip install nbclient nbformat ipykernel"
nbformat = pytest.importorskip("nbformat", reason=needs)
nbclient = pytest.importorskip("nbclient", reason=needs)
pytest.importorskip("ipykernel", reason=needs)

path = pathlib.Path(__file__).parents[2] / "example" / "notebook" / "first_transformer.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The cells that were run, by their ids. The kernel imports the package that is tested."""
    notebook = nbformat.read(path, as_version=4)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    folder = tmp_path_factory.mktemp("notebook")
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment)
    return {cell.id: cell for cell in notebook.cells}


def shown(cell, kind):
    """What a cell shows in that format: its result, and displays of their last state."""
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_is_stored_without_outputs():
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(
        not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code"
    )


def test_a_bar_ends_with_the_last_validation_and_its_samples(cells):
    (bar,) = shown(cells["training"], "text/html")
    assert 'value="1.0000"' in bar and "step 250" in bar and "validation loss" in bar and "reference" in bar


def test_the_curves_are_a_picture(cells):
    (picture,) = shown(cells["curves"], "image/svg+xml")
    assert picture.startswith(("<svg", "<?xml"))
    assert "learning rate" in picture and "BLEU" in picture


def test_a_heat_map_shows_what_was_translated(cells):
    (printed,) = [output.text for output in cells["translation"].outputs if output.output_type == "stream"]
    assert printed == "725\n"
    (picture,) = shown(cells["translation"], "image/svg+xml")
    assert "cross-attention of the last layer" in picture and picture.count("<title>head ") == 4


def test_a_heat_map_shows_a_call(cells):
    (picture,) = shown(cells["call"], "image/svg+xml")
    assert "nearer keys preferred" in picture and ">23</text>" in picture
