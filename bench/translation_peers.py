#!/usr/bin/env python3
"""Translating with random weights beside CTranslate2: the same shapes and sentences, 30 target tokens of each.

    python3 bench/translation_peers.py                                     # minutes
    python3 bench/translation_peers.py --rows tiny,64,1 base,64,4 --formats f32 int8 --rounds 3

A row is recipe,batch,beam. Every program is a process of its own, and they take turns, round after round; of
the rounds the best counts. CTranslate2 runs in three layouts (workers x threads), of which the fastest is
named. Printed are target tokens a second, the factor to CTranslate2 in f32 or int8, and the peak of resident
memory, less an idle Python's.

Needs build/bench/decode_bench, and ctranslate2 and numpy from PyPI.
"""

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time

from peer_processes import RECIPES, command_of, fastest, options_of, resident_mb, run_job, speed

TOKENS = 30
# name: the arguments of decode_bench, and the type of CTranslate2 that it is compared with
FORMATS = {
    "f32": (["--weights", "f32"], "float32"),
    "bf16": (["--weights", "bf16", "--precision", "bf16"], "int8"),
    "int8": (["--weights", "int8"], "int8"),
    "int8-cache-int8": (["--weights", "int8", "--cache", "int8"], "int8"),
    "q4_0-cache-int8": (["--weights", "q4_0", "--cache", "int8"], "int8"),
}


def sentences(recipe, count):
    """Of 5 to 40 ids, 14 on average, as captions have."""
    draw = random.Random(4)
    vocabulary = RECIPES[recipe]["vocabulary"]
    lengths = [min(40, max(5, round(draw.gammavariate(9, 1.6)))) for _ in range(count)]
    return [[draw.randrange(4, vocabulary) for _ in range(length)] for length in lengths]


def write_ctranslate2(recipe, folder):
    import numpy
    from ctranslate2.specs import transformer_spec

    size = RECIPES[recipe]
    width, ffn, vocabulary = size["width"], size["ffn"], size["vocabulary"]
    noise = numpy.random.default_rng(3)
    spec = transformer_spec.TransformerSpec.from_config((size["layers"],) * 2, size["heads"], pre_norm=False)

    def matrix(rows, columns):
        return noise.standard_normal((rows, columns), numpy.float32) * (2 / (rows + columns)) ** 0.5

    def linear(layer, rows, columns):
        layer.weight, layer.bias = matrix(rows, columns), numpy.zeros(rows, numpy.float32)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(width, numpy.float32), numpy.zeros(width, numpy.float32)

    def attention(layer, projections):
        norm(layer.layer_norm)
        for projection, rows in zip(layer.linear, projections, strict=True):
            linear(projection, rows * width, width)

    table = noise.standard_normal((vocabulary, width), numpy.float32) * width**-0.5
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    spec.decoder.projection.bias = numpy.zeros(vocabulary, numpy.float32)
    for stack in (spec.encoder, spec.decoder):
        for layer in stack.layer:
            attention(layer.self_attention, (3, 1))
            if stack is spec.decoder:
                attention(layer.attention, (1, 2, 1))
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, ffn, width)
            linear(layer.ffn.linear_1, width, ffn)
    tokens = ["<blank>", "<s>", "</s>", "<unk>"] + [f"t{i}" for i in range(4, vocabulary)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    os.makedirs(folder, exist_ok=True)
    spec.save(folder)


def ctranslate2_process(job):
    """As decode_bench: the first batch warms up, the fastest of the rounds counts."""
    idle = resident_mb()
    sys.modules["torch"] = None  # which ctranslate2 would load, and whose memory is not its own
    import ctranslate2

    with open(job["source"], encoding="utf-8") as file:
        source = [[f"t{word}" for word in line.split()] for line in file]
    model = ctranslate2.Translator(
        job["folder"],
        compute_type=job["type"],
        inter_threads=job["workers"],
        intra_threads=job["threads"],
    )
    source.sort(key=len)
    batch = job["batch"]
    options = {"beam_size": job["beam"], "min_decoding_length": TOKENS, "max_decoding_length": TOKENS}

    def translate(sentences):
        if batch > 1:
            model.translate_batch(sentences, max_batch_size=batch, **options)
        for sentence in sentences if batch == 1 else ():
            model.translate_batch([sentence], **options)

    translate(source[: max(batch, 4)])
    seconds = []
    for _ in range(job["repeat"]):
        begin = time.perf_counter()
        translate(source)
        seconds.append(time.perf_counter() - begin)
    return {"tokens_per_s": TOKENS * len(source) / min(seconds), "resident_mb": resident_mb() - idle}


def measure(row, folder, options):
    recipe, batch, beam = row
    sentence_count = 24 if batch == 1 else 4 * batch
    source = os.path.join(folder, f"{recipe}{batch}.txt")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(" ".join(map(str, s)) + "\n" for s in sentences(recipe, sentence_count))
    model = os.path.join(folder, recipe)
    if not os.path.exists(model):
        write_ctranslate2(recipe, model)
    work = ["--batch", str(batch), "--beam", str(beam), "--tokens", str(TOKENS), "--threads", str(options.threads)]
    work += ["--recipe", recipe, "--vocabulary", str(RECIPES[recipe]["vocabulary"]), "--source", source, "--json"]
    programs = {("qkv", name): [options.bench, *work, *FORMATS[name][0]] for name in options.formats}
    threads = options.threads
    layouts = {(1, 1), (1, threads)} | ({(threads, 1)} if batch > 1 else set())
    for kind in {FORMATS[name][1] for name in options.formats}:
        for workers, each in sorted(layouts):
            job = {"folder": model, "source": source, "type": kind, "workers": workers, "threads": each}
            job |= {"batch": batch, "beam": beam, "repeat": 3}
            programs[kind, f"{workers}x{each}"] = command_of(__file__, job)
    best = fastest(programs, options)
    for name in options.formats:
        ours, kind = best["qkv", name], FORMATS[name][1]
        layout, theirs = max(
            ((key[1], value) for key, value in best.items() if key[0] == kind),
            key=lambda item: speed(item[1]),
        )
        print(
            f"| {recipe}, batch {batch}, beam {beam} | {name} | {speed(ours):,.0f} | {kind}, {layout} "
            f"| {speed(theirs):,.0f} | {speed(ours) / speed(theirs):.2f} "
            f"| {ours['resident_mb']:.0f} of {theirs['resident_mb']:.0f} |",
            flush=True,
        )


def row_of(text):
    recipe, batch, beam = text.split(",")
    if recipe not in RECIPES:
        raise ValueError(recipe)
    return recipe, int(batch), int(beam)


def main():
    if run_job(ctranslate2_process):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rows = [(recipe, batch, beam) for recipe in RECIPES for batch, beam in ((1, 1), (64, 1), (64, 4))]
    parser.add_argument("--rows", nargs="+", type=row_of, default=rows, metavar="RECIPE,BATCH,BEAM")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    options = options_of(parser, "--bench", "build/bench/decode_bench", ("ctranslate2", "numpy"))
    print("| work | qkv | tokens/s | CTranslate2 | tokens/s | faster by | MB resident |")
    print("| --- | --- | --: | --- | --: | --: | --: |", flush=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        for row in options.rows:
            measure(row, folder, options)


if __name__ == "__main__":
    main()
