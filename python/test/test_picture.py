import html.parser
import json
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import qkv

weights = np.array([[0.25, 0.75, 0], [0.5, 0.125, 0.375]], np.float32)


def numbers_of(picture):
    return [panel for group in json.loads(picture.json())["groups"] for panel in group["panels"]]


def test_the_numbers_and_labels_of_a_matrix_are_in_the_picture():
    (panel,) = numbers_of(qkv.heatmap(weights, ["a", "b"], [1, 2, 3], title="t"))
    assert panel["weights"] == weights.tolist()
    assert (panel["rows"], panel["columns"]) == (["a", "b"], ["1", "2", "3"])


def test_heads_and_layers_and_named_matrices_are_panels():
    heads = np.stack([weights, 1 - weights])
    assert [p["title"] for p in numbers_of(qkv.heatmap(heads))] == ["head 0", "head 1"]
    assert [p["title"] for p in numbers_of(qkv.heatmap(heads[None]))] == ["layer 0, head 0", "layer 0, head 1"]
    named = numbers_of(qkv.heatmap({"wide": weights, "narrow": 2 * weights}))
    assert [p["title"] for p in named] == ["wide", "narrow"] and named[1]["weights"] == (2 * weights).tolist()


def test_other_arrays_are_converted():
    (panel,) = numbers_of(qkv.heatmap(weights.astype(np.float64).T[::-1]))
    assert panel["weights"] == weights.T[::-1].tolist()
    torch = pytest.importorskip("torch")
    (panel,) = numbers_of(qkv.heatmap(torch.tensor(weights, requires_grad=True).bfloat16()))
    assert panel["weights"] == weights.tolist()


@pytest.mark.parametrize("draw", [qkv.heatmap, qkv.head_view])
def test_a_notebook_shows_a_few_panels_as_svg(draw):
    shown = draw(weights[None].repeat(12, axis=0))._repr_mimebundle_()
    assert set(shown) == {"text/plain", "image/svg+xml"}
    assert xml.fromstring(shown["image/svg+xml"].encode()).tag.endswith("svg")
    assert draw(weights)._repr_html_() == draw(weights).svg()


@pytest.mark.parametrize("large", [weights[None].repeat(13, axis=0), np.ones((224, 224))], ids=["many", "large"])
def test_a_notebook_shows_much_as_a_page_in_a_frame(large):
    picture = qkv.heatmap(large)
    shown = picture._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    found = []
    reader = html.parser.HTMLParser()
    reader.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)["srcdoc"]))
    reader.feed(shown["text/html"])
    assert found == [("iframe", picture.html())]


def test_pictures_of_one_notebook_do_not_take_each_others_colours():
    names = [xml.fromstring(qkv.heatmap(w).svg().encode()).find(".//*[@x2]").get("id") for w in (weights, -weights)]
    assert names[0] != names[1]


@pytest.mark.parametrize("ending", ["svg", "html", "json"])
def test_save_writes_what_the_ending_says(tmp_path, ending):
    picture = qkv.heatmap(weights)
    picture.save(tmp_path / f"x.{ending}")
    assert (tmp_path / f"x.{ending}").read_text() == getattr(picture, ending)()
    assert [p.name for p in tmp_path.iterdir()] == [f"x.{ending}"]


wrong = {
    "another ending": (
        lambda to: qkv.heatmap(weights).save(to / "x.gif"),
        ValueError,
        "must end in .svg, .png, .html or .json",
    ),
    "no such folder": (
        lambda to: qkv.heatmap(weights).save(to / "none" / "x.svg"),
        FileNotFoundError,
        "none/x.svg",
    ),
    "not finite": (lambda to: qkv.heatmap(weights / 0), ValueError, "query"),
    "too few labels": (lambda to: qkv.heatmap(weights, ["a"]), ValueError, "1 query tokens (rows)"),
    "a vector": (lambda to: qkv.heatmap(weights[0]), ValueError, "(T, S)"),
    "nothing": (lambda to: qkv.heatmap({}), ValueError, "there must be at least one panel"),
}


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", wrong)
def test_refuses(tmp_path, name):
    call, kind, message = wrong[name]
    with pytest.raises(kind) as caught:
        call(tmp_path)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []
