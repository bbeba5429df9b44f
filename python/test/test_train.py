import inspect
import os
import signal
import subprocess
import sys
import time

import pytest

import conftest
import qkv
from conftest import pairs, small


def weights(model):
    with open(os.path.join(model, "model.safetensors"), "rb") as file:
        return file.read()


def test_a_handful_of_pairs_is_learnt(trained, translator):
    assert (trained.stop_reason, trained.steps, trained.validation) == ("max_steps", 300, None)
    assert trained.loss < 0.1 and trained.log()[-1]["step"] == 300
    assert [t.text for t in translator.translate([source for source, _ in pairs])] == [
        target for _, target in pairs
    ]


@pytest.mark.parametrize("recipe", ["bahdanau", "luong"])
def test_a_recurrent_model_learns_and_translates(recipe, pairs_file, tmp_path):
    options = {
        name: value
        for name, value in small.items()
        if name not in ("heads", "ffn", "encoder_layers", "decoder_layers", "positions", "recipe")
    }
    options.update(d_model=32, max_steps=150, learning_rate=1e-2)
    result = qkv.train(model=tmp_path / "m", train=pairs_file, recipe=recipe, **options)
    assert result.loss < 0.5
    translations = qkv.Translator(tmp_path / "m").translate([source for source, _ in pairs])
    assert sum(t.text == target for t, (_, target) in zip(translations, pairs, strict=True)) > len(pairs) / 2
    with pytest.raises(ValueError, match=f"heads is for Transformers: a {recipe} model has none"):
        qkv.train(model=tmp_path / "other", train=pairs_file, recipe=recipe, **{**options, "heads": 2})


def test_what_is_held_out_is_measured(pairs_file, tmp_path):
    result = qkv.train(model=tmp_path / "m", train=pairs_file, **{**small, "max_steps": 20, "hold_out": 10})
    assert result.validation.perplexity > 1 and 0 <= result.validation.bleu <= 100 and result.best_step == 20
    assert len((tmp_path / "m" / "held-out.tsv").read_text().splitlines()) == 10


def test_a_masked_model_is_measured_by_its_accuracy(tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"{source}\n" for source, _ in pairs))
    options = {**small, "architecture": "masked", "max_steps": 3, "hold_out": 10}
    result = qkv.train(model=tmp_path / "m", train=tmp_path / "text.txt", **options)
    assert 0 <= result.validation.accuracy <= 1 and result.validation.bleu is None


def test_a_resumed_training_ends_where_it_would_have_ended(pairs_file, tmp_path):
    options = {**small, "max_steps": 20}
    qkv.train(model=tmp_path / "whole", train=pairs_file, **options)
    qkv.train(model=tmp_path / "halves", train=pairs_file, **{**options, "max_steps": 9})
    result = qkv.train(model=tmp_path / "halves", resume=True, max_steps=20, quiet=True)
    assert result.steps == 20 and weights(tmp_path / "halves") == weights(tmp_path / "whole")


def test_several_corpora_are_trained_on_together(tmp_path):
    half = len(pairs) // 2
    for name, part in ("a", pairs[:half]), ("b", pairs[half:]), ("all", pairs):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in part))
    options = {**small, "max_steps": 9}
    qkv.train(model=tmp_path / "one", train=tmp_path / "all.tsv", **options)
    qkv.train(model=tmp_path / "two", train=[tmp_path / "a.tsv", str(tmp_path / "b.tsv")], **options)
    assert weights(tmp_path / "one") == weights(tmp_path / "two")
    with pytest.raises(ValueError, match="not the data that the training"):
        qkv.train(model=tmp_path / "two", train=tmp_path / "a.tsv", resume=True, quiet=True, max_steps=12)
    assert qkv.train(model=tmp_path / "two", resume=True, quiet=True, max_steps=12).steps == 12


def test_one_call_begins_goes_on_and_ends(pairs_file, tmp_path):
    call = {**small, "model": tmp_path / "m", "train": pairs_file, "recipe": "transformer-tiny", "resume": True}
    assert qkv.train(**{**call, "max_steps": 9}).steps == 9
    assert qkv.train(**{**call, "max_steps": 20}).steps == 20
    files = {path: path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()}
    assert qkv.train(**{**call, "max_steps": 20}).steps == 20
    with pytest.raises(ValueError, match="'d-model' was .* and is now 512"):
        qkv.train(**{**call, "d_model": 512})
    with pytest.raises(ValueError, match="'seed' was 1 and is now 2"):
        qkv.train(model=tmp_path / "m", resume=True, seed=2)
    (tmp_path / "m" / "training" / "state.safetensors").unlink()
    with pytest.raises(ValueError, match="no state to resume"):
        qkv.train(**call)
    assert all(path.read_bytes() == files[path] for path in files if path.name != "state.safetensors")


def interrupted(program, model, pairs_file):
    """The output of a training that gets Ctrl-C as soon as it has begun to learn."""
    asked = subprocess.Popen(
        [sys.executable, "-c", program, str(model), str(pairs_file), os.path.dirname(__file__)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = model / "training" / "log.jsonl"
    end = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size) and time.monotonic() < end:
        time.sleep(0.02)
    asked.send_signal(signal.SIGINT)
    return asked.communicate(timeout=60)


program = """
import signal, sys
import qkv
sys.path.append(sys.argv[3])
from conftest import small
def train():
    return qkv.train(model=sys.argv[1], train=sys.argv[2], **{**small, "max_steps": 10**6, "report_every": 1,
    "quiet": False})
"""


def test_ctrl_c_saves_and_raises(pairs_file, tmp_path):
    out, err = interrupted(
        program + "try:\n    train()\nexcept KeyboardInterrupt:\n    print('interrupted')\n",
        tmp_path / "m",
        pairs_file,
    )
    assert out == "interrupted\n" and "to continue, train again with resume" in err
    assert qkv.Translator(tmp_path / "m").translate("one two").text is not None
    steps = len((tmp_path / "m" / "training" / "log.jsonl").read_text().splitlines())
    assert qkv.train(model=tmp_path / "m", resume=True, max_steps=steps + 2, quiet=True).steps == steps + 2


def test_who_has_a_handler_of_his_own_gets_the_result(pairs_file, tmp_path):
    handler = "signal.signal(signal.SIGINT, lambda *_: print('mine'))\nprint(train().stop_reason)\n"
    assert interrupted(program + handler, tmp_path / "m", pairs_file)[0] == "mine\ninterrupted\n"


def test_the_signature_and_the_help_have_the_options_of_the_command():
    parameters = inspect.signature(qkv.train).parameters
    for name, value in {
        "max_steps": None,  # by the size of the corpus
        "self_attention": "full",
        "label_smoothing": 0.1,
        "resume": False,
        "norm": None,
        "activation": "relu",
    }.items():
        assert parameters[name].default == value
    for text in ("\nmax_steps ", "\nself_attention ", "bigbird[=block", "resume "):
        assert text in qkv.train.__doc__


wrong = {
    "no such file": ({"train": "nowhere.tsv"}, FileNotFoundError, "nowhere.tsv"),
    "no file": ({}, ValueError, "train is required"),
    "a number for a corpus": (
        {"train": 3},
        TypeError,
        "train must be the name of a file or a list of such names, got 3",
    ),
    "a number among corpora": ({"train": ["a.tsv", 3]}, TypeError, "a list of such names, got ['a.tsv', 3]"),
    "an unknown option": (
        {"dropuot": 0.1},
        TypeError,
        "train() got an unexpected keyword argument 'dropuot'; did you mean 'dropout'?",
    ),
    "half a step": ({"max_steps": 1.5}, TypeError, "max_steps must be an integer, got 1.5"),
    "a text for a number": ({"dropout": "many"}, TypeError, "dropout must be a number, got 'many'"),
    "true for a number": ({"warmup": True}, TypeError, "warmup must be an integer, got True"),
    "a number for true": ({"lossless": 1}, TypeError, "lossless must be True or False, got 1"),
    "a number for a name": ({"schedule": 3}, TypeError, "schedule: expected a text, got int"),
    "an unknown name": ({"schedule": "nome"}, ValueError, "did you mean noam?"),
    "an unknown recipe": ({"recipe": "transformer-huge"}, ValueError, "transformer-base"),
    "an unknown word": ({"self_attention": "widow=3"}, ValueError, "self_attention: unknown mechanism 'widow'"),
    "a negative seed": ({"seed": -1}, ValueError, "seed is out of range: -1"),
    "nothing to resume and nothing to begin with": ({"resume": True}, ValueError, "train is required"),
    "heads that do not fit": (
        {"train": conftest.__file__, "d_model": 30, "heads": 4},
        ValueError,
        "heads 4 must divide d-model 30",
    ),
    "a rate of a mean that never forgets": (
        {"train": conftest.__file__, "beta2": 1},
        ValueError,
        "beta2 must be at least 0 and less than 1, got 1",
    ),
    "no end": ({"train": conftest.__file__, "max_steps": 0}, ValueError, "never end"),
}


@pytest.mark.parametrize("name", wrong)
def test_refuses(tmp_path, name):
    options, kind, message = wrong[name]
    with pytest.raises(kind) as caught:
        qkv.train(model=tmp_path / "m", **options)
    assert message in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_leaves_a_model_alone(trained, pairs_file):
    before = weights(trained.model)
    with pytest.raises(ValueError, match="holds a model already"):
        qkv.train(model=trained.model, train=pairs_file, **small)
    assert weights(trained.model) == before
