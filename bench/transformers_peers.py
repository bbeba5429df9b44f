#!/usr/bin/env python3
"""Models of Hugging Face with attn_implementation "qkv" next to "sdpa" and "eager": the time of a step.

    PYTHONPATH=python python3 bench/transformers_peers.py               # every model; minutes
    python3 bench/transformers_peers.py --models llama --steps decode --seconds 60

Prints a table in Markdown: the median time of each, and how much faster qkv is than the better of the others. The
models are random and small (four layers), of the shapes that their families have; the weights are the same for all
three, which take turns, round after round, in one process: whatever else the machine does meanwhile meets all of
them alike. Before a row is timed its outputs are compared. Falcon, BLOOM, Longformer and BigBird are patched
(qkv.huggingface.patch), eager is their own code. Needs: pip install torch transformers, and this package.
"""

import argparse
import copy
import os
import statistics
import sys
import time

import torch
import transformers

import qkv.huggingface
from attention_peers import processor

IMPLEMENTATIONS = ("qkv", "sdpa", "eager")
COMMON = dict(
    vocab_size=4096, hidden_size=512, num_hidden_layers=4, num_attention_heads=8, max_position_embeddings=8192
)
DECODER = dict(COMMON, intermediate_size=1408, num_key_value_heads=4)
T5 = dict(vocab_size=4096, d_model=512, d_kv=64, d_ff=1024, num_layers=4, num_heads=8, decoder_start_token_id=0)

# name: configuration, batch, tokens (of the source where there are two sides)
MODELS = {
    "llama": (lambda: transformers.LlamaConfig(**DECODER), 1, 1024),
    "mistral": (lambda: transformers.MistralConfig(**DECODER, sliding_window=256), 1, 4096),
    "gemma2": (
        lambda: transformers.Gemma2Config(**DECODER, head_dim=64, query_pre_attn_scalar=64, sliding_window=256),
        1,
        1024,
    ),
    "bert": (lambda: transformers.BertConfig(**COMMON, intermediate_size=2048), 4, 512),
    "t5": (lambda: transformers.T5Config(**T5), 4, 512),
    "falcon": (
        lambda: transformers.FalconConfig(
            vocab_size=4096, hidden_size=512, num_hidden_layers=4, num_attention_heads=8
        ),
        1,
        1024,
    ),
    "bloom": (lambda: transformers.BloomConfig(vocab_size=4096, hidden_size=512, n_layer=4, n_head=8), 1, 1024),
    "longformer": (
        lambda: transformers.LongformerConfig(**COMMON, intermediate_size=2048, attention_window=512),
        1,
        4096,
    ),
    "big_bird": (lambda: transformers.BigBirdConfig(**COMMON, intermediate_size=2048), 1, 4096),
}
MASKED = {"bert", "longformer", "big_bird"}  # models of masked text
PATCHED = {"falcon", "bloom", "longformer", "big_bird"}
WITHOUT_SDPA = {"gemma2", "bloom", "longformer", "big_bird"}  # transformers has none for them
TARGET = 128  # tokens of the other side of t5


def made(name):
    config, batch, tokens = MODELS[name]
    config = config()
    torch.manual_seed(1)
    if name in MASKED:
        model = transformers.AutoModelForMaskedLM.from_config(config)
    elif name == "t5":
        model = transformers.T5ForConditionalGeneration(config)
    else:
        model = transformers.AutoModelForCausalLM.from_config(config)
    ids = torch.randint(3, config.vocab_size, (batch, tokens))
    inputs = dict(input_ids=ids)
    if name == "longformer":
        inputs["global_attention_mask"] = torch.zeros_like(ids).index_fill(1, torch.tensor([0]), 1)
    if batch > 1:  # sequences of unequal lengths
        lengths = torch.linspace(tokens, tokens // 4, batch).long()[:, None]
        inputs["attention_mask"] = (torch.arange(tokens)[None] < lengths).long()
    if name == "t5":
        inputs["decoder_input_ids"] = ids[:, :TARGET]
    return model.eval(), inputs


def steps_of(name, model, inputs):
    """Step: (a function that makes ready, a function that is timed and gives logits)."""
    labels = inputs.get("decoder_input_ids", inputs["input_ids"]).contiguous()

    def forward(_):
        with torch.no_grad():
            return model(**inputs).logits

    def train(_):
        model.zero_grad()
        out = model(**inputs, labels=labels, **({} if name in MASKED | {"t5"} else dict(use_cache=False)))
        out.loss.backward()
        return out.logits

    def past():
        """What is known after the prompt, which a step adds to."""
        with torch.no_grad():
            start = dict(inputs, decoder_input_ids=inputs["decoder_input_ids"][:, :-1]) if name == "t5" else inputs
            out = model(**start, use_cache=True)
        return out.past_key_values, getattr(out, "encoder_last_hidden_state", None)

    def decode(known):
        cache, encoded = known
        with torch.no_grad():
            if encoded is None:
                return model(inputs["input_ids"][:, -1:], past_key_values=cache).logits
            return model(
                encoder_outputs=(encoded,),
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=labels[:, -1:],
                past_key_values=cache,
            ).logits

    steps = {"prefill": (lambda: None, forward), "decode": (past, decode), "train": (lambda: None, train)}
    return {"train": steps["train"], "forward": steps["prefill"]} if name in MASKED else steps


def models_of(name, model):
    """Implementation: a model with these weights."""
    implementations = [i for i in IMPLEMENTATIONS if i != "sdpa" or name not in WITHOUT_SDPA]
    models = {i: copy.deepcopy(model) for i in implementations}
    for implementation, its_model in models.items():
        if name in PATCHED and implementation == "qkv":
            qkv.huggingface.patch(its_model)
        elif name not in {"longformer", "big_bird", "bloom"}:
            its_model.set_attn_implementation(implementation)
    return models


def timed(step, known):
    known = copy.deepcopy(known)  # a cache grows with every step
    begin = time.perf_counter()
    logits = step(known)
    return 1000 * (time.perf_counter() - begin), logits.detach()


def measure(steps, seconds):
    """steps: for each implementation the two functions of a step. Returns for each the milliseconds of each round,
    and how far the logits lie apart."""
    ready, logits, times = {}, {}, {i: [] for i in steps}
    for implementation, (prepare, step) in steps.items():
        ready[implementation] = prepare()
        ms, logits[implementation] = timed(step, ready[implementation])
    rounds, most = 0, time.monotonic() + seconds
    while rounds < 3 or (rounds < 50 and time.monotonic() < most):
        for place in range(len(steps)):
            implementation = list(steps)[(place + rounds) % len(steps)]
            step = steps[implementation][1]
            if ms < 100:
                timed(step, ready[implementation])  # brings to rest what the one before left running
            times[implementation].append(timed(step, ready[implementation])[0])
        rounds += 1
    return times, (logits["qkv"] - logits["eager"]).abs().max().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--steps", nargs="+", default=["prefill", "forward", "decode", "train"])
    parser.add_argument(
        "--seconds", type=float, default=10, help="for a row; three rounds at least (default: %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    qkv.set_threads(a.threads)
    qkv.huggingface.register()
    transformers.logging.set_verbosity_error()
    print(
        f"{processor()}, {a.threads} threads, {qkv.instruction_set()}; torch {torch.__version__}, "
        f"transformers {transformers.__version__}\n"
    )
    print("Milliseconds a step, medians. The last column is the better of sdpa and eager over qkv.\n")
    print(
        "| model | step | batch, tokens | qkv | sdpa | eager | qkv is faster by |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
    )
    for name in a.models:
        model, inputs = made(name)
        models = models_of(name, model)
        steps = {i: steps_of(name, its_model, inputs) for i, its_model in models.items()}
        for step in steps["qkv"]:
            if step not in a.steps:
                continue
            for its_model in models.values():
                its_model.train(step == "train")
            times, apart = measure({i: of_model[step] for i, of_model in steps.items()}, a.seconds)
            if apart > 1e-2 and step != "train":
                sys.exit(f"transformers_peers: {name} {step}: logits of qkv and eager differ by {apart}")
            ms = {i: statistics.median(t) for i, t in times.items()}
            cells = " | ".join(f"{ms[i]:.2f}" if i in ms else "-" for i in IMPLEMENTATIONS)
            best = min(time for i, time in ms.items() if i != "qkv")
            shape = ", ".join(map(str, inputs["input_ids"].shape))
            print(f"| {name} | {step} | {shape} | {cells} | {best / ms['qkv']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
