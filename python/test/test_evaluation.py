"""Systems compared by qkv.evaluate()."""

import json
import pathlib

import pytest

import conftest
import qkv

sources, targets = ([pair[side] for pair in conftest.pairs] for side in (0, 1))
golden = pathlib.Path(__file__).parents[2] / "test" / "golden" / "paired.json"


@pytest.mark.skipif(not golden.exists(), reason="the sources of the library")
@pytest.mark.parametrize("number", range(8))
def test_tests_are_those_of_sacrebleu(number):
    given = json.loads(golden.read_text())
    wanted = given["results"][number]
    references = given["references"][: wanted["references"]]
    systems = {s["name"]: s["lines"] for s in given["systems"]}
    evaluation = qkv.evaluate(
        systems, references, paired=wanted["test"], resamples=wanted["n"], seed=wanted["seed"]
    )
    for i, result in enumerate(evaluation.results):
        for metric in result.metrics:
            numbers = wanted["metrics"][metric.name]["systems"][i]
            assert metric.score == pytest.approx(numbers["score"])
            assert metric.p_value == numbers.get("p_value")
            if "mean" in numbers:
                assert metric.confidence == pytest.approx((numbers["mean"], numbers["ci"]), abs=1e-4)


def test_systems_are_lines_translations_or_translators(translator, tmp_path):
    poor = ["0" + line[1:] for line in targets]
    evaluation = qkv.evaluate(
        {"model": translator, "the same": translator.translate(sources), "poor": poor},
        targets,
        sources=sources,
        paired="bs",
        resamples=99,
    )
    model, same, worse = evaluation.results
    assert model.exact_matches == model.sentences == 100 and model.chrf.score == same.chrf.score == 100
    assert model.bleu.p_value is None and same.chrf.p_value == worse.chrf.p_value == 0.01  # none is as large
    assert worse.exact_matches == 10 and worse.chrf.confidence.half_width > 0
    assert str(evaluation).startswith("system    BLEU") and "\npoor " in str(evaluation)
    assert evaluation.systems["model"] == targets and "poor on 100 sentences" in repr(evaluation)
    assert evaluation.sentence_scores("poor")[11].ter == 100
    with pytest.raises(ValueError, match="no system called 'x'; there are model, the same, poor"):
        evaluation.sentence_scores("x")
    evaluation.save(tmp_path / "judged.html", sentences=3)
    page = (tmp_path / "judged.html").read_text()
    assert page == evaluation.html(sentences=3, attention="model") and page.count("!DOCTYPE html>") == 4
    assert evaluation.html(sentences=0).count("!DOCTYPE html>") == 1
    with pytest.raises(ValueError, match="'poor' is not the name of a system that is a Translator"):
        evaluation.html(attention="poor")


def test_scores_by_length():
    lines = ["one two", " ".join(["word"] * 12)]
    evaluation = qkv.evaluate({"a": lines, "b": ["one", lines[1]]}, lines)
    short, long = evaluation.by_length()
    assert (short.label, short.first, short.below, long.label) == ("<10", 0, 10, "10-19")
    assert [r.exact_matches for r in short.results] == [1, 0] and long.results[1].bleu.score == pytest.approx(100)
    assert evaluation.length_table().startswith("reference words  sentences  system")
    of_sources = qkv.evaluate({"a": lines}, lines, sources=["x", "y"])
    assert of_sources.by_length()[0].results[0].sentences == 2
    assert of_sources.length_table().startswith("source words")


def test_what_cannot_be_compared_is_refused(translator):
    with pytest.raises(ValueError, match="b has 1 line for 2 references"):
        qkv.evaluate({"a": ["x", "y"], "b": ["x"]}, ["x", "y"])
    with pytest.raises(ValueError, match="sources are needed, because a system is a Translator"):
        qkv.evaluate({"a": translator}, ["x"])
    with pytest.raises(ValueError, match="paired must be one of none, bs, ar, got 'b'"):
        qkv.evaluate({"a": ["x"]}, ["x"], paired="b")
    with pytest.raises(TypeError, match="expected a list of lines for each system"):
        qkv.evaluate({"a": "x"}, ["x"])
    with pytest.raises(ValueError, match="no systems"):
        qkv.evaluate({}, ["x"])
