"""A small Transformer, trained in seconds, and its attention weights: from numbers in words to digits."""

import itertools
from pathlib import Path

import qkv

words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
with open("numbers.tsv", "w") as file:
    for digits in itertools.product(range(10), repeat=3):
        print(" ".join(words[d] for d in digits), "".join(map(str, digits)), sep="\t", file=file)

result = qkv.train(
    model="numbers",
    train="numbers.tsv",
    hold_out=100,
    overwrite=True,
    quiet=True,
    recipe="transformer-tiny",
    d_model=64,
    ffn=128,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0,
    tokenizer="character",
    tie="none",
    schedule="inverse-sqrt",
    learning_rate=3e-3,
    warmup=50,
    batch_tokens=600,
    max_steps=250,
)
print(f"{result.steps} steps, perplexity {result.validation.perplexity:.3f} on held-out pairs")

translator = result.translator()
held_out = [line.split("\t") for line in Path("numbers/held-out.tsv").read_text().splitlines()]
answers = translator.translate([source for source, _ in held_out])
print(f"{sum(a.text == target for a, (_, target) in zip(answers, held_out))} of {len(held_out)} right")

inspection = translator.inspect("seven two five")
inspection.heatmap().save("heads.html")  # every layer and head
cross = inspection.attention[2]
qkv.heatmap(
    cross.layers[-1],
    cross.rows,
    cross.columns,
    title="Cross-attention of the last layer: seven two five",
    caption="rows: translation, columns: source",
).save("heads.svg")
