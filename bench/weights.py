"""Weights as f32, as bf16 and in place: loading, memory and decoding of a Llama with random bf16 weights.

    python bench/weights.py --qkv build/cli/qkv --layers 24 --width 1024 --rounds 3

Needs Python alone. Formats alternate within a round, and the best of the rounds counts: other programs on the
machine only ever add time. Tokens per second are from the difference of a long and a short answer, so that loading
is left out.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import tempfile
import time


def bf16_noise(count, source):
    """Numbers of either sign, 1/128 to 1/32: two exponents, random fractions."""
    numbers = bytearray(source.randbytes(2 * count))
    high = [(0x80 if byte & 0x80 else 0) | 0x3C for byte in range(256)]
    numbers[1::2] = numbers[1::2].translate(bytes(high))
    return numbers


def write_model(folder, vocabulary, width, ffn, layers, heads):
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": vocabulary,
        "hidden_size": width,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    shapes = {"model.embed_tokens.weight": (vocabulary, width), "lm_head.weight": (vocabulary, width)}
    shapes["model.norm.weight"] = (width,)
    for n in range(layers):
        layer = f"model.layers.{n}."
        for name in ("q", "k", "v", "o"):
            shapes[f"{layer}self_attn.{name}_proj.weight"] = (width, width)
        for name, shape in (("gate", (ffn, width)), ("up", (ffn, width)), ("down", (width, ffn))):
            shapes[f"{layer}mlp.{name}_proj.weight"] = shape
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{layer}{name}.weight"] = (width,)
    header, at = {}, 0
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + 2 * count]}
        at += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    source = random.Random(1)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes.values():
            if len(shape) == 1:
                file.write(b"\x80\x3f" * shape[0])  # ones
                continue
            for _ in range(shape[0]):
                file.write(bf16_noise(shape[1], source))
    words = {"<unk>": 0, "<s>": 1, "</s>": 2} | {str(n): n for n in range(3, vocabulary)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
    }
    for name, content in (("config.json", config), ("tokenizer.json", tokenizer)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    return at // 2


WAYS = {"f32": ["--weights", "f32"], "bf16": ["--weights", "bf16"], "mapped": ["--map"]}


def run(qkv, folder, weights, threads, tokens):
    """Seconds, and the largest resident memory in bytes, which for mapped weights other processes share."""
    command = [qkv, "generate", "--model", folder, *WAYS[weights], "--threads", str(threads), "--quiet"]
    command += ["--prompt", "5 6 7 8", "--temperature", "0"]
    command += ["--max-tokens", str(tokens), "--min-tokens", str(tokens)]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qkv", default="build/cli/qkv")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--ffn", type=int, default=2816)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parameters = write_model(folder, o.vocabulary, o.width, o.ffn, o.layers, o.heads)
        stored = os.path.getsize(os.path.join(folder, "model.safetensors"))
        print(f"{parameters / 1e6:.0f} million parameters, file {stored / 1e6:.0f} MB")
        for threads in o.threads:
            best = {}
            for _ in range(o.rounds):
                for weights in WAYS:
                    short, memory = run(o.qkv, folder, weights, threads, 1)
                    long, _ = run(o.qkv, folder, weights, threads, 1 + o.tokens)
                    old = best.get(weights, (1e9, 1e9, memory))
                    best[weights] = (min(old[0], short), min(old[1], long), min(old[2], memory))
            for weights, (short, long, memory) in best.items():
                print(
                    f"{weights:6}  {threads} threads  first token after {short:.2f} s  "
                    f"{o.tokens / (long - short):.1f} tokens/s  resident {memory / 1e6:.0f} MB, "
                    f"{memory / stored:.2f} of the file"
                )


if __name__ == "__main__":
    main()
