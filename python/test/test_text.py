"""Metrics and the tokenizer."""

import copy
import pathlib
import pickle

import pytest

import qkv

hypotheses = ["the cat sat on the mat", "a dog barks loudly , it is said"]
references = ["the cat is on the mat", "a dog barks loud, they say"]


def test_scores_are_those_of_sacrebleu():
    bleu, chrf, ter = (f(hypotheses, references) for f in (qkv.bleu, qkv.chrf, qkv.ter))
    assert 0 < bleu.score < 100 and str(bleu).startswith(f"BLEU = {bleu.score:.2f}") and len(bleu.precisions) == 4
    assert bleu.signature == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"
    assert str(chrf) == f"chrF2 = {chrf.score:.2f}" and "nc:6" in chrf.signature
    assert str(ter) == f"TER = {ter.score:.2f}" and ter.edits > 0 and ter.reference_length == 12
    for f in (qkv.bleu, qkv.chrf):
        assert f(references, references).score == pytest.approx(100)
        assert f(references, [hypotheses, references]).score == pytest.approx(100)
    for f in (qkv.bleu, qkv.chrf, qkv.ter):
        confidence = f(hypotheses * 20, references * 20, samples=200).confidence
        assert abs(confidence.mean - f(hypotheses * 20, references * 20).score) < confidence.half_width < 20
        assert f(hypotheses, references).confidence is None
    sacrebleu = pytest.importorskip("sacrebleu")
    assert bleu.score == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert chrf.score == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert ter.score == pytest.approx(sacrebleu.corpus_ter(hypotheses, [references]).score)


def test_scores_of_single_sentences():
    assert qkv.sentence_bleu("the cat", ["the cat"]).score == pytest.approx(100)  # orders that it is too short for
    assert qkv.sentence_bleu("the cat", ["the cat"], effective_order=False, smoothing="none").score == 0
    assert qkv.sentence_chrf("the cat", ["a dog", "the cat"]).score == pytest.approx(100)
    assert qkv.sentence_ter("the cat", ["the cat sat"]).edits == 1
    assert qkv.chrf(hypotheses, references, word_order=2).text.startswith("chrF2++")


def test_tokenizers_of_bleu():
    assert qkv.tokenize("It's 3.14, not 3,14!") == "It's 3.14 , not 3,14 !"
    assert qkv.tokenize("no change, here", "none") == "no change, here"
    with pytest.raises(ValueError, match="tokenizer must be one of 13a, intl, char, none, got 'spm'"):
        qkv.bleu(hypotheses, references, tokenizer="spm")


def test_lines_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="bleu: 2 hypotheses but 1 reference"):
        qkv.bleu(hypotheses, references[:1])
    with pytest.raises(TypeError, match="references: expected a list of lines"):
        qkv.bleu(hypotheses, references[0])
    with pytest.raises(ValueError, match="smoothing must be exp, floor, add-k or none, got 'most'"):
        qkv.bleu(hypotheses, references, smoothing="most")


sentences = [
    f"the {a} {b} sat on the {c}" for a in ("big", "small") for b in ("cat", "dog") for c in ("mat", "log")
]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "character"])
def test_a_tokenizer_gives_back_its_text(kind, tmp_path):
    tokenizer = qkv.Tokenizer.train(sentences, type=kind, vocabulary_size=60, character_coverage=1)
    ids = tokenizer.encode(sentences[0])
    assert tokenizer.decode(ids) == sentences[0] and all(3 < n < len(tokenizer) for n in ids)
    assert tokenizer.tokens(sentences[0]) == [tokenizer.token(n) for n in ids]
    assert "".join(tokenizer.tokens(sentences[0])).replace("\u2581", " ").strip() == sentences[0]
    tokenizer.save(tmp_path / "a.model")
    for other in (
        qkv.Tokenizer.load(tmp_path / "a.model"),
        copy.copy(tokenizer),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert other.encode(sentences[1]) == tokenizer.encode(sentences[1])


@pytest.mark.parametrize("kind, tokens", [("byte-bpe", ["th", "\u2581"]), ("wordpiece", ["the", "cat"])])
def test_tokenizers_of_gpt2_and_bert_are_trained(kind, tokens, tmp_path):
    tokenizer = qkv.Tokenizer.train(sentences, type=kind, vocabulary_size=300)
    assert tokenizer.decode(tokenizer.encode(sentences[0])) == sentences[0]
    assert any(t.startswith(tokens[0]) for t in tokenizer.tokens(sentences[0]))
    assert any(t.startswith(tokens[1]) for t in tokenizer.tokens(sentences[0]))
    assert ("mask" in tokenizer.special_tokens) == (kind == "wordpiece")
    tokenizer.save(tmp_path / "a.model")
    assert qkv.Tokenizer.load(tmp_path / "a.model").encode(sentences[1]) == tokenizer.encode(sentences[1])


def test_the_tokenizer_of_a_published_model_is_read():
    folder = pathlib.Path(__file__).parents[2] / "test" / "checkpoints" / "marian"
    if not folder.exists():
        pytest.skip("the sources of the library")
    source, target = (qkv.Tokenizer.from_pretrained(folder, side) for side in ("source", "target"))
    assert source.special_tokens["pad"] == source.special_tokens["bos"] == len(source) - 1
    assert source.encode("the man") != target.encode("the man")
    with pytest.raises(ValueError, match="side must be"):
        qkv.Tokenizer.from_pretrained(folder, "both")


def test_byte_fallback_is_lossless():
    tokenizer = qkv.Tokenizer.train(sentences, vocabulary_size=300, lossless=True)
    text = "  na\u00efve \U0001f600 "
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_what_a_tokenizer_refuses(tmp_path):
    with pytest.raises(ValueError, match="type must be one of unigram, bpe, .*, wordpiece, got 'word'"):
        qkv.Tokenizer.train(sentences, type="word")
    with pytest.raises(FileNotFoundError):
        qkv.Tokenizer.load(tmp_path / "none.model")
    with pytest.raises(ValueError, match="id 999 is outside the vocabulary"):
        qkv.Tokenizer.train(sentences, vocabulary_size=40).token(999)
    with pytest.raises(ValueError, match="outside"):
        qkv.Tokenizer.train(sentences, vocabulary_size=40).decode([999])
