#!/usr/bin/env python3
"""Generating with a Llama of random weights beside llama.cpp, from the same GGUF file.

    python3 bench/generation_peers.py                                    # 110 million and 1.1 billion parameters
    python3 bench/generation_peers.py --models 110M --formats Q4_0 Q8_0 --rounds 3

Measured are a prompt of 512 tokens and 64 tokens behind a prompt of 16, by the programs' own clocks. Every
program is a process of its own, and they take turns, round after round; of the rounds the best counts. Printed
are tokens a second, the factor to llama.cpp, and the gigabytes of weights that qkv reads a second while it
generates.

Needs build/cli/qkv, and gguf, numpy and xllamacpp (llama.cpp) from PyPI.
"""

import argparse
import os
import re
import subprocess
import tempfile

from peer_processes import answer, command_of, in_turn, options_of, run_job

MODELS = {
    "110M": {"width": 768, "ffn": 2048, "layers": 12, "heads": 12},
    "18M": {"width": 256, "ffn": 512, "layers": 2, "heads": 4},
    "1.1B": {"width": 2048, "ffn": 5632, "layers": 22, "heads": 32},
}
VOCABULARY = 32_000
PROMPT, SHORT_PROMPT, GENERATED = 512, 16, 64
FORMATS = ("BF16", "Q8_0", "Q4_0", "Q4_K")


def blocks(noise, name, rows, columns):
    """A matrix of random numbers of about 0.02, as the bytes of the format."""
    import numpy

    def halves(count, number):
        return numpy.full((count, 1), number, numpy.float16).view(numpy.uint8)

    def bytes_of(count, size):
        return noise.integers(0, 256, (count, size), numpy.uint8)

    if name == "BF16":
        numbers = noise.standard_normal((rows, columns), numpy.float32) * 0.02
        return (numbers.view(numpy.uint32) >> 16).astype(numpy.uint16).view(numpy.uint8)
    if name == "F16":
        numbers = noise.standard_normal((rows, columns), numpy.float32) * 0.02
        return numbers.astype(numpy.float16).view(numpy.uint8)
    count = rows * columns // (256 if name == "Q4_K" else 32)
    if name == "Q8_0":
        parts = [halves(count, 0.02 / 74), bytes_of(count, 32)]
    elif name == "Q4_0":
        parts = [halves(count, 0.02 / 4.6), bytes_of(count, 16)]
    else:  # every scale and every minimum is 17 of 63
        scale = 0.02 / 4.6 / 17
        packed = numpy.array([0x51] * 8 + [0x11] * 4, numpy.uint8)
        parts = [
            halves(count, scale),
            halves(count, 7.5 * scale),
            numpy.tile(packed, (count, 1)),
            bytes_of(count, 128),
        ]
    return numpy.concatenate(parts, axis=1).reshape(rows, -1)


def llama_tokenizer(writer):
    """Bytes, and names of the other tokens."""
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces + [f"t{n}" for n in range(VOCABULARY - len(pieces))])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - len(pieces)))


def write_gguf(path, size, name, add_tokenizer=llama_tokenizer):
    """Returns the bytes of all matrices but the embedding table, of which a token reads one row."""
    import gguf
    import numpy

    width, ffn, heads = size["width"], size["ffn"], size["heads"]
    kind = gguf.GGMLQuantizationType[name]
    noise = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(width)
    writer.add_block_count(size["layers"])
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{name}" + ("_M" if name == "Q4_K" else "")])
    add_tokenizer(writer)

    def matrix(tensor, rows, columns):
        numbers = blocks(noise, name, rows, columns)
        writer.add_tensor(f"{tensor}.weight", numbers, raw_dtype=kind)
        return numbers.nbytes

    def norm(tensor):
        writer.add_tensor(f"{tensor}.weight", numpy.ones(width, numpy.float32))

    matrix("token_embd", VOCABULARY, width)
    read = 0
    for layer in range(size["layers"]):
        block = f"blk.{layer}."
        norm(block + "attn_norm")
        for tensor in ("attn_q", "attn_k", "attn_v", "attn_output"):
            read += matrix(block + tensor, width, width)
        norm(block + "ffn_norm")
        read += matrix(block + "ffn_gate", ffn, width)
        read += matrix(block + "ffn_up", ffn, width)
        read += matrix(block + "ffn_down", width, ffn)
    norm("output_norm")
    read += matrix("output", VOCABULARY, width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return read


def llama_cpp_process(job):
    """Tokens a second of the long prompt, and of what is generated behind the short one."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = job["file"]
    settings.n_ctx, settings.n_parallel, settings.warmup = 1024, 1, True
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = job["threads"]
    server = xllamacpp.Server(settings)

    def timings(prompt, generated):
        request = {"prompt": [100 + i % 100 for i in range(prompt)], "max_tokens": generated, "temperature": 0}
        request |= {"cache_prompt": False, "ignore_eos": True, "stream": False, "timings_per_token": True}
        return server.handle_completions(request)["timings"]

    return {
        "prompt": timings(PROMPT, 1)["prompt_per_second"],
        "generated": timings(SHORT_PROMPT, GENERATED)["predicted_per_second"],
    }


def qkv(program, file, threads):
    def rate(what, prompt, generated):
        command = [program, "generate", "--model", file, "--prompt", "a" * prompt]
        command += ["--min-tokens", str(generated), "--max-tokens", str(generated), "--threads", str(threads)]
        command += ["--temperature", "0", "--timings"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        found = re.search(what + r" in [\d.]+ s, (\d+) tokens/s", done.stderr)
        if not found:
            raise SystemExit(f"{' '.join(command)}: there must be a rate of what is {what} in\n{done.stderr}")
        return float(found[1])

    return {"prompt": rate("of the prompt", PROMPT, 1), "generated": rate("generated", SHORT_PROMPT, GENERATED)}


def programs_of(file, options):
    llama_cpp = command_of(__file__, {"file": file, "threads": options.threads})
    return {"qkv": lambda: qkv(options.qkv, file, options.threads), "llama.cpp": lambda: answer(llama_cpp)}


def main():
    if run_job(llama_cpp_process):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["110M", "1.1B"])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    options = options_of(parser, "--qkv", "build/cli/qkv", ("gguf", "numpy", "xllamacpp"))
    both = "qkv | llama.cpp | factor"
    print(f"| model | prompt of {PROMPT}: {both} | {GENERATED} tokens: {both} | GB/s |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |", flush=True)
    for model in options.models:
        for name in options.formats:
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "model.gguf")
                read = write_gguf(file, MODELS[model], name)
                found = in_turn(programs_of(file, options), options)
            cells = []
            for what in ("prompt", "generated"):
                ours, theirs = (max(run[what] for run in found[program]) for program in ("qkv", "llama.cpp"))
                cells += [f"{ours:,.1f}", f"{theirs:,.1f}", f"{ours / theirs:.2f}"]
            print(f"| {model}, {name} | {' | '.join(cells)} | {ours * read / 1e9:.1f} |", flush=True)


if __name__ == "__main__":
    main()
