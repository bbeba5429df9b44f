"""The options of functions come from the tables of the library."""

import inspect
import pathlib
import re
import runpy
import typing

import pytest

import qkv
from qkv import _core, _foreign_names, _options

script = pathlib.Path(__file__).parents[2] / "script" / "python-options"
functions = {
    qkv.Translator.translate: "TranslateOptions",
    qkv.Translator.score: "ScorePairsOptions",
    qkv.Generator.generate: "GenerateTextOptions",
    qkv.Generator.stream: "GenerateTextOptions",
    qkv.Generator.score: "ScoreTextOptions",
    qkv.Generator.perplexity: "ScoreTextOptions",
    qkv.Embedder.embed: "EmbedOptions",
    qkv.MaskFiller.fill: "FillMaskOptions",
    qkv.train: "TrainOptions",
}
tables = {**_core.decoding_options(), "TrainOptions": _core.train_options()}


def test_the_types_are_what_the_script_makes():
    if not script.exists():
        pytest.skip("the sources of the library")
    assert pathlib.Path(_options.__file__).read_text() == runpy.run_path(str(script))["text"]()


@pytest.mark.parametrize("function, table", functions.items(), ids=lambda x: getattr(x, "__qualname__", x))
def test_the_signature_and_the_help_have_every_option(function, table):
    parameters = inspect.signature(function).parameters
    types = typing.get_type_hints(getattr(_options, table))
    for name, default, kind, _, help in tables[table]:
        assert parameters[name].default == default and parameters[name].annotation == kind
        assert name in types
        assert f"\n{name} " in function.__doc__ and help.split(";")[0].split("--")[0] in function.__doc__
    assert not [p for p in parameters.values() if p.kind is p.VAR_KEYWORD]
    assert "--" not in function.__doc__


def test_the_defaults_are_those_of_the_command():
    parameters = inspect.signature(qkv.Translator.translate).parameters
    assert (parameters["beam"].default, parameters["length_normalization"].default) == (4, "wu")
    assert parameters["beam"].annotation == "int"
    assert parameters["length_normalization"].annotation == 'Literal["wu", "power"]'


def test_none_stands_for_the_default(translator):
    assert translator.translate("one", beam=None, max_length=None).score == translator.translate("one").score


def test_a_name_of_another_library_is_answered_with_ours(translator):
    calls = {
        "max_batch_size": (translator.score, (["one"], ["1"]), "batch_tokens"),
        "beam_size": (translator.translate, ("one",), "beam"),
        "lr": (qkv.train, (), "learning_rate"),
    }
    for name, (call, arguments, ours) in calls.items():
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'; qkv calls it {ours}"):
            call(*arguments, **{name: 1}, **({"model": "m"} if call is qkv.train else {}))


def test_an_option_of_a_generator_that_is_misspelled_is_answered():
    folder = script.parents[1] / "test" / "checkpoints" / "gpt2"
    if not folder.exists():
        pytest.skip("the models of the tests")
    generator = qkv.Generator(folder)
    for call in (generator.generate, generator.stream):
        with pytest.raises(TypeError, match="unexpected keyword argument 'temprature'; did you mean 'temperature'"):
            call("the cat", temprature=1)
        with pytest.raises(TypeError, match="'do_sample'; qkv calls it temperature, which is above 0 where tokens"):
            call("the cat", do_sample=True)
    with pytest.raises(ValueError, match="beam 2 finds the most likely texts: it excludes"):
        generator.generate("the cat", beam=2, top_k=3)
    with pytest.raises(TypeError, match="Generator.generate: stop: expected a text, got int"):
        generator.generate("the cat", stop=[3])
    greedy, drawn = generator.generate("the cat"), generator.generate("the cat", top_k=3)
    assert greedy.tokens == generator.generate("the cat", temperature=0).tokens
    assert drawn.tokens == generator.generate("the cat", top_k=3, temperature=1).tokens, "a limit asks for drawing"


def test_a_name_that_others_export_is_answered_with_ours():
    with pytest.raises(AttributeError, match=r"no attribute 'sliding_window'; it has qkv.window\(radius\)$"):
        qkv.sliding_window  # noqa: B018
    for name, ours in _foreign_names._attributes.items():
        assert not hasattr(qkv, name)
        for path in re.findall(r"qkv\.([\w.]+)", ours):
            assert path.startswith("torch.") or path in qkv.__all__, path
