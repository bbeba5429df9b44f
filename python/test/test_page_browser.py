"""The page of a picture in a real browser: it draws itself without an error and fits the window."""

import itertools

import numpy as np
import pytest

import qkv
from browser import Browser, chromium
from qkv import _core

pytestmark = pytest.mark.skipif(chromium() is None, reason="Chromium is not installed (Debian: chromium)")
layers, heads = 4, 4


def weights_of(tokens, kind):
    """Heads as real ones are: each prefers a position, some are even."""
    random = np.random.default_rng(tokens)
    at = np.arange(tokens)
    out = []
    for head in range(heads):
        scores = random.normal(0, 1.5, (tokens, tokens))
        if head < 3:
            scores -= 2.0 * np.abs(at[:, None] + head - 1 - at)
        if kind == "decoder self-attention":
            scores[at[:, None] < at] = -np.inf
        out.append(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True))
    return np.asarray(out, np.float32)


def save(path, tokens):
    words = [f"\N{LOWER ONE EIGHTH BLOCK}word{i}" for i in range(tokens - 1)] + ["</s>"]
    groups = [
        (kind, [weights_of(tokens, kind)] * layers, words, words, "what rows are")
        for kind in ("encoder self-attention", "decoder self-attention", "cross-attention")
    ]
    picture = qkv.Picture(_core.attention_picture(groups, " ".join(words), {"source": "line\n" * 50}))
    picture.save(path)
    return path


@pytest.fixture(scope="module", params=[10, 60, 200])
def page(request, tmp_path_factory):
    return save(tmp_path_factory.mktemp("page") / "x.html", request.param), request.param


@pytest.fixture(scope="module", params=[400, 1400])
def browser(request):
    with Browser(request.param, 900) as opened:
        yield opened


def choose(browser, what):
    browser.value(f"kinds.value = '{what}'; kinds.dispatchEvent(new Event('change'))")


def test_a_page_is_drawn_without_an_error_and_fits(browser, page):
    path, _ = page
    assert path.stat().st_size < 1_000_000
    browser.open(path)
    for lines in (False, True):
        browser.value(f"views[{int(lines)}].click()")
        for what in ("head", "layerMean", "allMax", "overlay"):
            choose(browser, what)
            assert browser.value("stage.scrollWidth - stage.clientWidth") == 0
            assert browser.value("stage.scrollHeight - stage.clientHeight") == 0, "nothing needs scrolling"
            assert browser.value("stage.getBoundingClientRect().bottom") <= 900, "all of it is visible at once"
    assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window"
    assert browser.value("panels.every(p => p.canvas.width > 0)")
    assert browser.value("document.querySelector('h1').clientHeight") < 40, "one line"
    assert browser.errors == []


def test_labels_do_not_overlap(browser, page):
    browser.open(page[0])
    labels = "[...stage.querySelectorAll('text[text-anchor=end]')].map(t => t.getBoundingClientRect())"
    boxes = browser.value(labels + ".map(b => [b.top, b.bottom])")
    boxes.sort()
    assert len(boxes) > 8
    leading = 0.35  # of a line of text
    assert all(a[1] - b[0] < leading * (a[1] - a[0]) for a, b in itertools.pairwise(boxes))


def test_a_thumbnail_shows_the_largest_weight_of_a_pixel(browser, tmp_path):
    tokens = 500
    qkv.heatmap(np.stack([np.eye(tokens), np.zeros((tokens, tokens))]).astype(np.float32)).save(tmp_path / "x.html")
    browser.open(tmp_path / "x.html")
    diagonal = browser.value(
        """(() => { const {canvas} = panels[0], n = canvas.width, zero = rgb(data.light[0]).join();
        const pixels = canvas.getContext("2d").getImageData(0, 0, n, canvas.height).data;
        const drawn = i => [...pixels.slice(4 * (i * n + i), 4 * (i * n + i) + 3)].join() !== zero;
        return [n, [...Array(n).keys()].filter(drawn).length]; })()"""
    )
    assert diagonal[0] < tokens / 2 and diagonal[0] == diagonal[1], "no pixel of the diagonal is empty"


def test_zoom_keeps_the_size_and_the_keys_move_the_part(browser, page):
    path, tokens = page
    browser.open(path)
    before = browser.value("[stage.clientWidth, view.fit]")
    key = "stage.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', cancelable: true}}))".format
    for _ in range(4):
        browser.value(key("+"))
    zoomed = browser.value("state.zoom")
    assert np.isclose(zoomed, min(1.5**4, max(1, 44 / before[1])), rtol=0.03), "up to cells of 44 pixels"
    assert browser.value("stage.clientWidth") == before[0]
    assert browser.value("stage.scrollWidth - stage.clientWidth") == 0
    for _ in range(tokens):
        browser.value(key("ArrowDown"))
    assert browser.value("[state.row, view.down.visible(state.row)]") == [tokens - 1, True]
    browser.value(key("0"))
    assert browser.value("[state.zoom, state.x, state.y]") == [1, 0, 0]
    assert browser.errors == []


def test_heads_are_ordered_and_the_most_informative_is_open(browser, page):
    browser.open(page[0])
    assert browser.value("state.panel.group.title") == "cross-attention"
    of_group = browser.value("state.panel.group.panels.map(p => p.information)")
    assert browser.value("state.panel.information") == max(of_group)
    browser.value("order.value = 'entropy'; order.dispatchEvent(new Event('change'))")
    entropies = browser.value("grids[0].order.map(p => p.entropy)")
    assert entropies == sorted(entropies) and len(entropies) == layers * heads
    assert "token" in browser.value("title.textContent"), "its title names what it does"
    assert browser.errors == []


def test_means_and_maxima_are_those_of_the_weights(browser, tmp_path):
    weights = np.random.default_rng(1).random((2, 3, 5, 4)).astype(np.float32)
    qkv.heatmap(weights).save(tmp_path / "x.html")
    browser.open(tmp_path / "x.html")
    browser.value("choose(panels[4])")  # layer 1, head 1
    for what, expected in {
        "layerMean": weights[1].mean(0),
        "layerMax": weights[1].max(0),
        "allMean": weights.mean((0, 1)),
        "allMax": weights.max((0, 1)),
        "overlay": weights[1].max(0),
    }.items():
        choose(browser, what)
        found = browser.value("[...current().weights]")
        assert np.allclose(np.reshape(found, (5, 4)), expected, atol=1e-4), what
    assert browser.value("[...current().strongest]") == weights[1].argmax(0).ravel().tolist()
    browser.value("document.querySelectorAll('.chips button')[0].click()")
    assert np.allclose(
        np.reshape(browser.value("[...current().weights]"), (5, 4)), weights[1, 1:].max(0), atol=1e-4
    )
