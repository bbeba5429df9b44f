"""What is seen of a training: callbacks, curves, TensorBoard, the bar of a notebook."""

import sys
import types

import pytest

import qkv
from conftest import small
from qkv import _notebook


@pytest.fixture(scope="module")
def run(pairs_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "m"
    options = {**small, "max_steps": 20, "hold_out": 10, "report_every": 5, "valid_every": 10}
    return qkv.train(model=folder, train=pairs_file, tensorboard=True, **options)


def test_a_callback_sees_every_record_and_may_stop(pairs_file, tmp_path):
    records = []
    options = {**small, "max_steps": 20, "report_every": 5, "model": tmp_path / "m", "train": pairs_file}
    result = qkv.train(**options, callback=lambda r: records.append(r) or r["step"] < 10)
    assert (result.stop_reason, result.steps) == ("interrupted", 10)
    assert records == result.log() and records[0]["progress"] == 0.25
    assert qkv.train(**options, resume=True).steps == 20


def test_an_exception_in_a_callback_is_raised_after_everything_is_saved(pairs_file, tmp_path):
    options = {**small, "max_steps": 20, "report_every": 5, "model": tmp_path / "m", "train": pairs_file}

    def fail(record):
        raise KeyError(record["step"])

    with pytest.raises(KeyError, match="5"):
        qkv.train(**options, callback=fail)
    assert qkv.train(**options, resume=True).log()[0]["step"] == 5


@pytest.mark.parametrize("limit", ["2s", 2, 2.0])
def test_a_training_ends_in_time(limit, pairs_file, tmp_path):
    options = {name: value for name, value in small.items() if name != "max_steps"}
    result = qkv.train(model=tmp_path / "m", train=pairs_file, max_time=limit, **options)
    assert result.stop_reason == "max_time" and result.seconds < 5


def test_a_time_without_a_unit_is_refused(pairs_file, tmp_path):
    with pytest.raises(ValueError, match="max_time must be a time with its unit, such as 90s"):
        qkv.train(model=tmp_path / "m", train=pairs_file, max_time="90")


def test_curves_are_drawn_of_results_and_folders(run, tmp_path):
    curves = qkv.plot([run, run.model])
    assert curves.svg().count("<svg") == 1 and "validation BLEU" in curves.svg()
    assert curves._repr_mimebundle_()["image/svg+xml"] == curves.svg() == curves._repr_html_()
    curves.save(tmp_path / "curves.html")
    assert "<!DOCTYPE html>" in (tmp_path / "curves.html").read_text()
    curves.save(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="the name must end in .svg, .png or .html"):
        curves.save(tmp_path / "curves.bmp")
    with pytest.raises(ValueError, match="neither the folder of a model nor a log"):
        qkv.plot(tmp_path / "nothing")


def test_tensorboard_reads_the_event_file(run):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(run.model + "/training")
    events.Reload()
    log = run.log()
    names = {"train/loss": "loss", "valid/bleu": "valid_bleu", "train/learning_rate": "learning_rate"}
    for tag, name in names.items():
        read = [(e.step, e.value) for e in events.Scalars(tag)]
        assert read == [(r["step"], pytest.approx(r[name], rel=1e-6)) for r in log if name in r] and read


class FakeDisplay:
    """IPython.display, as far as the bar uses it."""

    def __init__(self):
        self.shown = []

    def HTML(self, text):
        return text

    def display(self, text, display_id):
        self.shown.append(text)
        return types.SimpleNamespace(update=self.shown.append)


def test_a_notebook_shows_a_bar_with_validations_and_samples(pairs_file, tmp_path, monkeypatch, capfd):
    display = FakeDisplay()
    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    options = {**small, "max_steps": 20, "hold_out": 10, "report_every": 5, "valid_every": 10}
    options.pop("quiet", None)
    qkv.train(model=tmp_path / "m", train=pairs_file, **options)
    assert 'value="1.0000"' in display.shown[-1] and "step 20" in display.shown[-1]
    assert "BLEU" in display.shown[-1] and "hypothesis" in display.shown[-1]
    assert "tokens/s" not in capfd.readouterr().err


def test_without_a_notebook_there_is_no_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert _notebook.progress_bar() is None
