"""A model for the tests that need one: it reads numbers in words, digit by digit, and is trained in seconds."""

import itertools

import pytest

import qkv

words = dict(zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]))
pairs = [
    (" ".join(words[d] for d in digits), "".join(digits)) for digits in itertools.product("0123456789", repeat=2)
]
small = dict(
    recipe="transformer-tiny",
    hold_out=0,
    d_model=32,
    heads=2,
    ffn=64,
    encoder_layers=1,
    decoder_layers=1,
    dropout=0,
    tie="none",
    tokenizer="character",
    batch_tokens=150,
    schedule="inverse-sqrt",
    learning_rate=5e-3,
    warmup=30,
    label_smoothing=0,
    positions="learned",
    max_steps=300,
    quiet=True,
)


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


@pytest.fixture(scope="session")
def trained(pairs_file, tmp_path_factory):
    return qkv.train(model=tmp_path_factory.mktemp("model") / "numbers", train=pairs_file, **small)


@pytest.fixture(scope="session")
def translator(trained):
    return trained.translator()
