#!/usr/bin/env python3
"""Models of Hugging Face with attn_implementation "qkv" next to "sdpa" and "eager": the time of a step.

    PYTHONPATH=python python3 bench/transformers_peers.py               # every model; minutes
    python3 bench/transformers_peers.py --models llama --steps decode --seconds 60

Prints a table in Markdown: the median time of each, and how much faster qkv is than the better of the others. The
models are random and small (four layers), of the shapes that their families have; the weights are the same for all
three, which take turns, round after round, in one process: whatever else the machine does meanwhile meets all of
them alike. Before a row is timed its outputs are compared. Needs: pip install torch transformers, and this package.
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
}
WITHOUT_SDPA = {"gemma2"}  # which transformers refuses: it has no softcap
TARGET = 128  # tokens of the other side of t5


def made(name):
    config, batch, tokens = MODELS[name]
    config = config()
    torch.manual_seed(1)
    if name == "bert":
        model = transformers.BertForMaskedLM(config)
    elif name == "t5":
        model = transformers.T5ForConditionalGeneration(config)
    else:
        model = transformers.AutoModelForCausalLM.from_config(config)
    ids = torch.randint(3, config.vocab_size, (batch, tokens))
    inputs = dict(input_ids=ids)
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
        out = model(**inputs, labels=labels, **({} if name in ("bert", "t5") else dict(use_cache=False)))
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
    return {"train": steps["train"], "forward": steps["prefill"]} if name == "bert" else steps


def timed(step, known):
    known = copy.deepcopy(known)  # a cache grows with every step
    begin = time.perf_counter()
    logits = step(known)
    return 1000 * (time.perf_counter() - begin), logits.detach()


def measure(model, implementations, prepare, step, seconds):
    """Implementation: milliseconds of each round; and how far the logits lie apart."""
    ready, logits, times = {}, {}, {}
    for implementation in implementations:
        model.set_attn_implementation(implementation)
        ready[implementation] = prepare()
        ms, logits[implementation] = timed(step, ready[implementation])
        times[implementation] = []
    rounds, most = 0, time.monotonic() + seconds
    while rounds < 3 or (rounds < 50 and time.monotonic() < most):
        for place in range(len(implementations)):
            implementation = implementations[(place + rounds) % len(implementations)]
            model.set_attn_implementation(implementation)
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
        for step, (prepare, run) in steps_of(name, model, inputs).items():
            if step not in a.steps:
                continue
            model.train(step == "train")
            implementations = [i for i in IMPLEMENTATIONS if i != "sdpa" or name not in WITHOUT_SDPA]
            times, apart = measure(model, implementations, prepare, run, a.seconds)
            if apart > 1e-2 and not model.training:
                sys.exit(f"transformers_peers: {name} {step}: logits of qkv and eager differ by {apart}")
            ms = {i: statistics.median(t) for i, t in times.items()}
            cells = " | ".join(f"{ms[i]:.2f}" if i in ms else "-" for i in IMPLEMENTATIONS)
            best = min(time for i, time in ms.items() if i != "qkv")
            shape = ", ".join(map(str, inputs["input_ids"].shape))
            print(f"| {name} | {step} | {shape} | {cells} | {best / ms['qkv']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
