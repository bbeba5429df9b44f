import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import conftest
import qkv

sources, targets = ([pair[side] for pair in conftest.pairs] for side in (0, 1))


def test_translates_in_the_order_of_the_sentences(translator):
    assert [str(t) for t in translator.translate(sources)] == targets
    assert [t.source for t in translator.translate(reversed(sources))] == sources[::-1]


def test_one_sentence_has_one_translation(translator):
    one = translator.translate("four two")
    assert one.text == str(one) == "42" and repr(one).startswith("Translation('42', score=-")
    assert one == translator.translate(["nine nine", "four two"])[1]


def test_a_translation_says_what_it_was_made_from(translator):
    t = translator.translate("four two", n_best=3)
    assert t.tokens == ["\N{LOWER ONE EIGHTH BLOCK}", "4", "2"]
    assert t.source_tokens == ["\N{LOWER ONE EIGHTH BLOCK}", *"four", "\N{LOWER ONE EIGHTH BLOCK}", *"two", "</s>"]
    assert t.alignment.shape == (3, 10) and np.allclose(t.alignment.sum(1), 1, atol=1e-5)
    assert t.n_best[0].text == "42" and len({a.text for a in t.n_best}) == 3
    scores = [a.score for a in t.n_best]
    assert scores == sorted(scores, reverse=True) and t.score == scores[0] and not t.truncated


def test_options_are_those_of_the_command(translator):
    assert len(translator.translate("four two", max_length=1).tokens) == 1
    greedy = translator.translate("four two", beam=1, length_penalty=0, batch_tokens=1)
    assert (
        greedy.score
        == greedy.log_probability
        == pytest.approx(translator.score(["four two"], ["42"])[0].log_probability, abs=1e-4)
    )
    power = translator.translate("four two", length_penalty=2, length_normalization="power")
    assert power.score == pytest.approx(power.log_probability / (len(power.tokens) + 1) ** 2)
    with pytest.raises(ValueError, match="length_normalization must be one of wu, power, got 'powr'"):
        translator.translate("four two", length_normalization="powr")


def test_scores_say_how_likely_a_translation_is(translator):
    right, wrong = translator.score(["four two"] * 2, ["42", "43"])
    assert right.log_probability > wrong.log_probability + 3
    assert right.tokens[-1] == "</s>" and sum(right.token_log_probabilities) == pytest.approx(
        right.log_probability, abs=1e-5
    )


def test_a_blank_sentence_has_a_blank_translation(translator):
    blank = translator.translate(" ")
    assert blank.text == "" and blank.tokens == [] and len(blank.n_best) == 1
    with pytest.raises(ValueError, match="without tokens"):
        blank.heatmap()
    assert translator.translate([]) == []


def test_prefixes_begin_translations_and_alternatives_differ_behind_them(translator):
    led = translator.translate(["one two", "one two"], prefixes=["2", ""])
    assert led[0].text.startswith("2") and led[1].text == translator.translate("one two").text
    found = translator.translate("one two", beam=1, n_best=3, alternatives=True)
    assert len({a.tokens[0] for a in found.n_best}) == 3
    assert translator.translate("one two", prefixes="2").alignment.shape[0] == len(led[0].tokens)
    with pytest.raises(ValueError, match="1 sentences and 2 prefixes"):
        translator.translate(["one two"], prefixes=["1", "2"])


def test_terms_have_their_translations(translator):
    free, other = translator.translate(["Go on.", "no"], max_length=20)
    word = other.text.split()[0]
    found, same = translator.translate(["Go on.", "no"], terms={"Go": word}, max_length=20)
    assert word in found.text
    assert same.text == other.text
    assert found.alignment.shape[0] == len(found.tokens)
    assert translator.translate("Go on.", terms={}, max_length=20).text == free.text
    with pytest.raises(ValueError, match="source and a translation"):
        translator.translate("Go on.", terms={"Go": ""})
    with pytest.raises(TypeError):
        translator.translate("Go on.", terms={"Go": 3})


def test_the_heat_map_of_a_translation_is_its_alignment(translator):
    t = translator.translate("one two")
    assert all(token in t.heatmap().svg() for token in ("one two \N{RIGHTWARDS ARROW} 12", "&lt;/s&gt;"))


def test_an_alignment_is_the_same_whenever_it_is_asked_for(translator):
    now, late = (translator.translate(sources, n_best=2, alignment=alignment) for alignment in (True, False))
    for a, b in zip(now, late, strict=True):
        assert np.array_equal(a.alignment, b.alignment)
        assert np.array_equal(a.n_best[1].alignment, b.n_best[1].alignment)


def test_translations_go_to_another_process(translator):
    there = pickle.loads(pickle.dumps(translator.translate(["one two"], alignment=True)))[0]
    assert there.text == "12" and there.alignment.shape[0] == 3
    with pytest.raises(ValueError, match="another process"):
        pickle.loads(pickle.dumps(translator.translate("one two"))).heatmap()


def test_inspect_has_every_layer_and_head(translator):
    seen = translator.inspect("one two")
    assert [maps.title for maps in seen.attention] == [
        "encoder self-attention",
        "decoder self-attention",
        "cross-attention",
    ]
    cross = seen.attention[2]
    assert [layer.shape for layer in cross.layers] == [(2, len(cross.rows), len(cross.columns))]
    assert np.allclose(cross.layers[0].sum(-1), 1, atol=1e-5)
    # The alignment of a translation is the mean over the heads of the last layer.
    assert np.allclose(cross.layers[-1].mean(0)[:-1], translator.translate("one two").alignment, atol=1e-5)
    assert "cross-attention" in seen.heatmap().svg()
    assert "shifted by one" in seen.attention[1].caption and seen.attention[1].caption in seen.heatmap().svg()
    assert translator.inspect("one two", "34").log_probability < seen.log_probability


def test_the_model_describes_itself(translator):
    assert translator.config["d_model"] == 32
    assert "Parameters" in translator.describe()


def test_threads_may_ask_at_once(translator):
    answers = [None] * 4

    def ask(i):
        answers[i] = [str(t) for t in translator.translate(sources)]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == [targets] * 4


@pytest.mark.parametrize(
    "call",
    [
        "t.translate(['one two three'] * 10**5, beam=8, batch_tokens=800)",
        "t.score(['one two three'] * 10**5, ['123'] * 10**5, batch_tokens=50)",
    ],
)
def test_ctrl_c_ends_a_long_call(translator, call):
    program = (
        "import qkv, sys\n"
        "t = qkv.Translator(sys.argv[1])\n"
        "try:\n    print('begin', flush=True)\n"
        f"    {call}\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    asked = subprocess.Popen([sys.executable, "-c", program, translator.model], stdout=subprocess.PIPE, text=True)
    assert asked.stdout.readline() == "begin\n"
    time.sleep(1)  # into the search
    asked.send_signal(signal.SIGINT)
    assert asked.communicate(timeout=60)[0] == "interrupted\n"


wrong = {
    "no such model": (lambda t: qkv.Translator("nowhere"), FileNotFoundError, "nowhere"),
    "not a model": (lambda t: qkv.Translator(os.path.dirname(t.model)), ValueError, "there is no config.json"),
    "not a name": (lambda t: qkv.Translator(3), TypeError, "PathLike"),
    "not a text": (lambda t: t.translate(["one", b"two"]), TypeError, "expected a text, got bytes"),
    "half a character": (lambda t: t.translate(["one", "\ud800"]), ValueError, "sentence 2: invalid UTF-8"),
    "no beam": (lambda t: t.translate("one", beam=0), ValueError, "beam must be"),
    "more answers than hypotheses": (lambda t: t.translate("one", beam=2, n_best=3), ValueError, "n-best"),
    "no batch": (lambda t: t.translate("one", batch_tokens=0), ValueError, "batch-tokens"),
    "half a beam": (
        lambda t: t.translate("one", beam=1.5),
        TypeError,
        "Translator.translate: beam must be an integer",
    ),
    "a beam of 70 bits": (
        lambda t: t.translate("one", beam=2**70),
        ValueError,
        "Translator.translate: beam is out of range: 1180591620717411303424",
    ),
    "a word of another library": (
        lambda t: t.translate("one", num_beams=2),
        TypeError,
        "Translator.translate() got an unexpected keyword argument 'num_beams'; qkv calls it beam",
    ),
    "more than the positions": (
        lambda t: t.translate("one", max_input_tokens=2000),
        ValueError,
        "1024 tokens, got 2000",
    ),
    "fewer targets": (lambda t: t.score(["one", "two"], ["1"]), ValueError, "2 sources and 1 targets"),
}


def test_long_sentences_are_cut_where_one_says(translator):
    assert [t.truncated for t in translator.translate(["one two", "one"], max_input_tokens=7)] == [True, False]
    assert len(translator.translate("one two", max_input_tokens=7).source_tokens) == 7
    assert [s.truncated for s in translator.score(["one two", "one"], ["12", "1"], max_input_tokens=7)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("name", wrong)
def test_refuses(translator, name):
    call, kind, message = wrong[name]
    with pytest.raises(kind) as caught:
        call(translator)
    assert message in str(caught.value) and "\n" not in str(caught.value)
