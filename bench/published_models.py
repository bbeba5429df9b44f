#!/usr/bin/env python3
"""Shapes of published models with random weights beside other programs, in float32, in one process.

    python3 bench/published_models.py --tokenizers test/checkpoints --threads 2

Beside transformers, and ctranslate2, onnxruntime (with onnxscript) and llama-cpp-python (with gguf) if they are
installed. All are called in turn; printed are the medians, and the ratio of the best of the others (above 1: qkv is
faster).

- gpt2, llama: a prompt until its first answer; then 64 tokens at batch 1 and 16, greedy, with a cache.
- bert: vectors of 16 sentences of 128 tokens (mean pooling).
- t5: 16 sources of 64 tokens, 64 tokens of each greedy translation.

Texts are words of one token each, so that both read the same number of tokens. Needs torch and transformers.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch
import transformers

import published_model_peers as peers
import qkv


def gpt2():
    config = transformers.GPT2Config(bos_token_id=383, eos_token_id=None)
    return transformers.GPT2LMHeadModel(config), "gpt2"


def llama():
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12
    )
    config.eos_token_id = None
    return transformers.LlamaForCausalLM(config), "llama"


def bert():
    return transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False), "bert"


def t5():
    config = transformers.T5Config(
        vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, decoder_start_token_id=0
    )
    return transformers.T5ForConditionalGeneration(config), "t5"


def save(make, folder, tokenizers):
    """The model, and its folder with the tokenizer of a tiny checkpoint, whose vocabulary is smaller."""
    torch.manual_seed(1)
    model, tokenizer = make()
    model.eval().save_pretrained(folder)
    for file in (Path(tokenizers) / tokenizer).glob("token*.json"):
        shutil.copy(file, folder)
    fill(Path(folder) / "tokenizer.json", model.config.vocab_size)
    settings = json.loads((Path(folder) / "config.json").read_text())
    generation = Path(folder) / "generation_config.json"
    if generation.exists():  # nothing ends an answer early
        kept = {k: v for k, v in json.loads(generation.read_text()).items() if "eos" not in k}
        generation.write_text(json.dumps(kept))
    settings.pop("eos_token_id", None)
    if settings["model_type"] == "bert":
        settings["position_embedding_type"] = "absolute"  # which ctranslate2 asks for
    (Path(folder) / "config.json").write_text(json.dumps(settings))
    return model


def fill(file, rows):
    """Tokens without a text up to the model's rows, which some programs ask for."""
    tokenizer = json.loads(file.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, list):
        vocabulary += [[f"<none{n}>", -100.0] for n in range(len(vocabulary), rows)]
    else:
        used = {*vocabulary.values(), *(token["id"] for token in tokenizer["added_tokens"])}
        vocabulary |= {f"<none{n}>": n for n in range(rows) if n not in used}
    file.write_text(json.dumps(tokenizer))


def medians(calls, repeats):
    """{name: seconds} of calls in turn, after one of each that does not count."""
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(t) for name, t in times.items()}


PROGRAMS = ("qkv", "transformers", "ctranslate2", "onnxruntime", "llama.cpp")


def show(name, seconds):
    best = min(t for program, t in seconds.items() if program != "qkv")
    cells = " | ".join(f"{1e3 * seconds[p]:.0f}" if p in seconds else "-" for p in PROGRAMS)
    print(f"| {name} | {cells} | {best / seconds['qkv']:.2f} |", flush=True)


def measure_causal(name, make, options):
    with tempfile.TemporaryDirectory() as folder:
        model = save(make, folder, options.tokenizers)
        generator = qkv.Generator(folder)
        new_tokens = options.new_tokens
        word = 10  # any id
        fixed = {"do_sample": False, "pad_token_id": 0}

        def generate(ids, new):
            mask = torch.ones_like(ids)
            return model.generate(ids, attention_mask=mask, max_new_tokens=new, min_new_tokens=new, **fixed)

        text = " the" * 512 if name == "gpt2" else " a" * 255
        length = prompt_length(folder, text)
        ids = torch.full((1, length), word)
        token = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(Path(folder) / "tokenizer.json")
        ).convert_ids_to_tokens(word)
        ct2 = peers.ctranslate2_generator(folder, token, options.threads)
        cpp = peers.llama_cpp_generator(model, folder, options.threads) if name == "llama" else None
        calls = {
            "qkv": lambda: generator.generate(text, max_tokens=1, temperature=0),
            "transformers": lambda: generate(ids, 1),
        }
        if ct2:
            calls["ctranslate2"] = lambda: ct2(1, length, 1)
        if cpp:
            calls["llama.cpp"] = lambda: cpp(length, 1)
        calls |= peers.onnxruntime_call(model, ids, folder, options.threads, use_cache=False, logits_to_keep=1)
        show(f"{name}, prompt of {length} tokens", medians(calls, options.repeats))
        for rows in (1, 16):
            texts = [" a"] * rows
            short = torch.full((rows, 2), word)
            calls = {
                "qkv": lambda: generator.generate(
                    texts, max_tokens=new_tokens, min_tokens=new_tokens, temperature=0
                ),
                "transformers": lambda: generate(short, new_tokens),
            }
            if ct2:
                calls["ctranslate2"] = lambda: ct2(rows, 2, new_tokens)
            if cpp and rows == 1:
                calls["llama.cpp"] = lambda: cpp(2, new_tokens)
            show(f"{name}, {new_tokens} tokens, batch {rows}", medians(calls, options.repeats))


def prompt_length(folder, text):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(Path(folder) / "tokenizer.json"))
    return len(tokenizer(text).input_ids)


def measure_bert(options):
    with tempfile.TemporaryDirectory() as folder:
        model = save(bert, folder, options.tokenizers)
        embedder = qkv.Embedder(folder)
        texts = ["a " * 126] * 16
        ids, mask = torch.full((16, 128), 10), torch.ones(16, 128, dtype=torch.long)

        def theirs():
            with torch.inference_mode():
                return model(input_ids=ids, attention_mask=mask).last_hidden_state.mean(1)

        calls = {"qkv": lambda: embedder.embed(texts), "transformers": theirs}
        calls |= peers.ctranslate2_encoder(folder, ids, options.threads)
        calls |= peers.onnxruntime_call(model, ids, folder, options.threads)
        show("bert-base, 16 x 128 tokens", medians(calls, options.repeats))


def measure_t5(options):
    with tempfile.TemporaryDirectory() as folder:
        model = save(t5, folder, options.tokenizers)
        settings = json.loads((Path(folder) / "config.json").read_text())
        settings["eos_token_id"] = 1
        (Path(folder) / "config.json").write_text(json.dumps(settings))
        translator = qkv.Translator(folder)
        texts = ["a " * 31] * 16
        length = prompt_length(folder, texts[0])
        ids = torch.full((16, length), 10)
        token = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(Path(folder) / "tokenizer.json")
        ).convert_ids_to_tokens(10)
        new_tokens = options.new_tokens
        calls = {
            "qkv": lambda: translator.translate(texts, beam=1, max_length=new_tokens, batch_tokens=100000),
            "transformers": lambda: model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=new_tokens, do_sample=False, num_beams=1
            ),
        }
        calls |= peers.ctranslate2_translator(folder, token, 16, length, options.threads)
        show(f"t5-small, 16 sources of {length} tokens, {new_tokens} tokens", medians(calls, options.repeats))


MEASURES = {
    "gpt2": lambda options: measure_causal("gpt2", gpt2, options),
    "llama": lambda options: measure_causal("llama", llama, options),
    "bert": measure_bert,
    "t5": measure_t5,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default="test/checkpoints", help="folder of tiny checkpoints")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=list(MEASURES), choices=list(MEASURES))
    parser.add_argument("--new-tokens", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    qkv.set_threads(options.threads)
    transformers.logging.set_verbosity_error()
    print(f"{qkv.instruction_set()}, {options.threads} threads, float32, medians of {options.repeats}\n")
    print(f"Milliseconds.\n\n| | {' | '.join(PROGRAMS)} | ratio |\n{'| --- ' * (len(PROGRAMS) + 2)}|")
    for name in options.models:
        MEASURES[name](options)


if __name__ == "__main__":
    main()
