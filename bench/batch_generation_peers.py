#!/usr/bin/env python3
"""Generating for 16 prompts at once with a Llama of random weights beside OpenVINO, ONNX Runtime and llama.cpp.

    python3 bench/batch_generation_peers.py                               # 110 million parameters; minutes
    python3 bench/batch_generation_peers.py --models 1.1B --batch 8 --formats int8 int4 --rounds 1

64 tokens behind each prompt of 16, always the most likely one, none of which ends an answer. qkv, OpenVINO GenAI
and llama.cpp read the same GGUF file (OpenVINO F16 instead of BF16, which it does not read); ONNX Runtime GenAI a
model of the same shape that its model builder makes, with blocks of 32 weights and activations in int8. Every
program is a process of its own, and they take turns, round after round; of the rounds the best counts. Each
answers --waves batches: OpenVINO, ONNX Runtime and llama.cpp after one that does not count, qkv as soon as the
model is read. OpenVINO runs with both of its attention backends, computing in f32 and in bf16; the fastest of the
four is named. Printed are generated tokens a second, of the time for the prompts too, and how much faster the
fastest row of qkv with weights of the format is.

Needs build/cli/qkv, and from PyPI: gguf numpy openvino-genai onnxruntime-genai onnx_ir torch transformers
xllamacpp. ONNX Runtime has no bf16 on CPUs.
"""

import argparse
import json
import os
import re
import string
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from generation_peers import MODELS, VOCABULARY, write_gguf
from peer_processes import answer, command_of, in_turn, options_of, run_job, speed

# Weights of: the formats of the GGUF files and the options of qkv, and what the others hold them as.
FORMATS = {
    "f32": {"qkv": {"f32": ("BF16", ["--weights", "f32"])}, "openvino": ("F16", ["f32"]), "onnxruntime": "fp32"},
    "bf16": {
        "qkv": {
            "BF16": ("BF16", []),
            "BF16-precision-bf16": ("BF16", ["--precision", "bf16"]),
            "BF16-cache-bf16": ("BF16", ["--precision", "bf16", "--cache", "bf16"]),
        },
        "openvino": ("F16", ["bf16"]),
        "llama.cpp": "BF16",
    },
    "int8": {
        "qkv": {
            "Q8_0": ("Q8_0", []),
            "Q8_0-cache-int8": ("Q8_0", ["--cache", "int8"]),
            "int8": ("BF16", ["--weights", "int8"]),
            "int8-cache-int8": ("BF16", ["--weights", "int8", "--cache", "int8"]),
        },
        "openvino": ("Q8_0", ["f32", "bf16"]),
        "onnxruntime": "int8",
        "llama.cpp": "Q8_0",
    },
    "int4": {
        "qkv": {"Q4_0": ("Q4_0", []), "Q4_0-cache-int8": ("Q4_0", ["--cache", "int8"])},
        "openvino": ("Q4_0", ["f32", "bf16"]),
        "onnxruntime": "int4",
        "llama.cpp": "Q4_0",
    },
}
NAMES = {"openvino": "OpenVINO", "onnxruntime": "ONNX Runtime", "llama.cpp": "llama.cpp"}
MODULES = ("gguf", "numpy", "onnx_ir", "onnxruntime_genai", "openvino_genai", "torch", "transformers", "xllamacpp")
FIRST_ID = 300  # of prompts: no special tokens, no letters


def byte_level_tokenizer(writer):
    """Letters that stand for bytes, as of GPT-2, and names of the other tokens: OpenVINO reads no other kind."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in kept] + [chr(256 + n) for n in range(256 - len(kept))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(["<s>", "</s>", *letters] + [f"t{n}" for n in range(VOCABULARY - 258)])
    writer.add_token_types([3, 3] + [1] * (VOCABULARY - 2))
    writer.add_token_merges(["t 1"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template("")


def prompts_of(job):
    import numpy

    draw = numpy.random.default_rng(5)
    return draw.integers(FIRST_ID, VOCABULARY, (job["batch"], job["prompt"]), numpy.int64)


def timed(job, generate):
    """Tokens a second of the waves behind the first one; generate() returns the tokens of each row."""
    generate()
    begin = time.perf_counter()
    rows = [row for _ in range(job["waves"]) for row in generate()]
    seconds = time.perf_counter() - begin
    if rows != [job["new"]] * (job["batch"] * job["waves"]):
        raise SystemExit(f"{job['engine']}: {job['new']} tokens were asked for, got {rows}")
    return {"tokens_per_s": sum(rows) / seconds}


def openvino_process(job):
    import openvino
    import openvino_genai

    settings = {"INFERENCE_PRECISION_HINT": job["precision"], "INFERENCE_NUM_THREADS": job["threads"]}
    how = openvino_genai.GenerationConfig()
    how.max_new_tokens = how.min_new_tokens = job["new"]
    how.ignore_eos, how.do_sample = True, False
    ids = prompts_of(job)
    if job["backend"] == "SDPA":
        model = openvino_genai.LLMPipeline(job["model"], "CPU", ATTENTION_BACKEND="SDPA", **settings)
        return timed(job, lambda: [len(row) for row in model.generate(openvino.Tensor(ids), how).tokens])
    schedule = openvino_genai.SchedulerConfig()
    schedule.max_num_batched_tokens, schedule.max_num_seqs = ids.size, job["batch"]
    schedule.cache_size, schedule.enable_prefix_caching = 2, False
    model = openvino_genai.ContinuousBatchingPipeline(job["model"], schedule, "CPU", settings)
    rows = [openvino.Tensor(row[None]) for row in ids]

    def generate():
        return [len(found.m_generation_ids[0]) for found in model.generate(rows, [how] * len(rows))]

    return timed(job, generate)


def onnxruntime_process(job):
    import onnxruntime_genai

    config = onnxruntime_genai.Config(job["model"])
    session = {"intra_op_num_threads": job["threads"]}
    config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
    model = onnxruntime_genai.Model(config)
    ids = prompts_of(job).astype("int32")
    length = job["prompt"] + job["new"]

    def generate():
        how = onnxruntime_genai.GeneratorParams(model)
        how.set_search_options(batch_size=job["batch"], max_length=length, min_length=length, do_sample=False)
        generator = onnxruntime_genai.Generator(model, how)
        generator.append_tokens(ids)
        while not generator.is_done():
            generator.generate_next_token()
        return [len(generator.get_sequence(row)) - job["prompt"] for row in range(job["batch"])]

    return timed(job, generate)


def llama_cpp_process(job):
    """A server with a slot for each prompt, as many requests at once."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = job["model"]
    settings.n_parallel, settings.warmup = job["batch"], True
    settings.n_ctx = job["batch"] * 256 * (1 + (job["prompt"] + job["new"]) // 256)
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = job["threads"]
    server = xllamacpp.Server(settings)

    def complete(ids):
        request = {"prompt": ids, "max_tokens": job["new"], "temperature": 0, "top_k": 1, "stream": False}
        request |= {"cache_prompt": False, "ignore_eos": True, "timings_per_token": True}
        return server.handle_completions(request)["timings"]["predicted_n"]

    rows = prompts_of(job).tolist()
    with ThreadPoolExecutor(len(rows)) as pool:
        return timed(job, lambda: list(pool.map(complete, rows)))


def builder_process(job):
    """Makes the models of ONNX Runtime GenAI."""
    import tokenizers
    import torch
    import transformers

    size, folder = job["size"], job["folder"]
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=size["width"],
        intermediate_size=size["ffn"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    names = {"<s>": 0, "</s>": 1} | {f"t{n}": n for n in range(2, VOCABULARY)}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE(names, [])), bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    for precision in job["precisions"]:
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", "llama", "-i", folder]
        command += ["-o", f"{folder}-{precision}", "-p", precision, "-e", "cpu", "-c", f"{folder}-cache"]
        command += ["--extra_options", "prune_lm_head=true"]
        if precision != "fp32":
            command += ["block_size=32", "accuracy_level=4"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return {}


PROCESSES = {
    "openvino": openvino_process,
    "onnxruntime": onnxruntime_process,
    "llama.cpp": llama_cpp_process,
    "builder": builder_process,
}


def process(job):
    return PROCESSES[job["engine"]](job)


def qkv(command, options):
    """By its own clock, from the first prompt to the last answer."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    found = re.search(r"([\d,]+) tokens generated in .*?([\d,]+) tokens/s", done.stderr)
    tokens, rate = (int(number.replace(",", "")) for number in found.groups())
    if tokens != options.batch * options.waves * options.new_tokens:
        raise SystemExit(f"{' '.join(command)}: another number of tokens was asked for\n{done.stderr}")
    return {"tokens_per_s": rate}


def write_prompts(path, options):
    """A letter is a token, and none repeats the prompt before it."""
    letters = string.ascii_letters
    with open(path, "w", encoding="utf-8") as file:
        for line in range(options.batch * options.waves):
            file.write("".join(letters[(line + 7 * n) % len(letters)] for n in range(options.prompt_tokens)) + "\n")


def qkv_call(folder, kind, how, options):
    most = options.batch * (options.prompt_tokens + options.new_tokens)
    command = [options.qkv, "generate", "--model", os.path.join(folder, f"{kind}.gguf"), *how]
    command += ["--input", os.path.join(folder, "prompts.txt"), "--output", os.devnull]
    command += ["--min-tokens", str(options.new_tokens), "--max-tokens", str(options.new_tokens)]
    command += ["--batch-tokens", str(most), "--threads", str(options.threads)]
    command += ["--temperature", "0", "--timings", "--quiet"]
    return lambda: qkv(command, options)


def jobs_of(folder, wanted):
    """{(engine, layout): job} of the others."""
    jobs = {}
    if "openvino" in wanted:
        kind, precisions = wanted["openvino"]
        for precision in precisions:
            for backend in ("SDPA", "PA"):
                job = {"engine": "openvino", "model": os.path.join(folder, f"{kind}.gguf")}
                jobs["openvino", f"{backend}, {precision}"] = job | {"backend": backend, "precision": precision}
    if "onnxruntime" in wanted:
        name = wanted["onnxruntime"]
        jobs["onnxruntime", name] = {"engine": "onnxruntime", "model": os.path.join(folder, f"hf-{name}")}
    if "llama.cpp" in wanted:
        kind = wanted["llama.cpp"]
        jobs["llama.cpp", kind] = {"engine": "llama.cpp", "model": os.path.join(folder, f"{kind}.gguf")}
    return jobs


def write_models(folder, model, options):
    formats = [FORMATS[name] for name in options.formats]
    kinds = {kind for wanted in formats for kind, _ in wanted["qkv"].values()}
    kinds |= {wanted["openvino"][0] for wanted in formats}
    for kind in sorted(kinds):
        write_gguf(os.path.join(folder, f"{kind}.gguf"), MODELS[model], kind, byte_level_tokenizer)
    precisions = [wanted["onnxruntime"] for wanted in formats if "onnxruntime" in wanted]
    if precisions:
        job = {"engine": "builder", "size": MODELS[model], "folder": os.path.join(folder, "hf")}
        answer(command_of(__file__, job | {"precisions": precisions}))
    write_prompts(os.path.join(folder, "prompts.txt"), options)


def measure(folder, model, name, options):
    work = {"threads": options.threads, "batch": options.batch, "waves": options.waves}
    work |= {"prompt": options.prompt_tokens, "new": options.new_tokens}
    calls = {
        ("qkv", row): qkv_call(folder, kind, how, options) for row, (kind, how) in FORMATS[name]["qkv"].items()
    }
    for key, job in jobs_of(folder, FORMATS[name]).items():
        command = command_of(__file__, job | work)
        calls[key] = lambda command=command: answer(command)
    best = {key: max(map(speed, found)) for key, found in in_turn(calls, options).items()}
    ours = max(rate for (engine, _), rate in best.items() if engine == "qkv")
    for (engine, row), rate in best.items():
        if engine == "qkv":
            print(f"| {model}, {name} | qkv, {row} | {rate:,.0f} | |", flush=True)
    for engine in NAMES:
        rows = [(rate, row) for (of, row), rate in best.items() if of == engine]
        if rows:
            rate, row = max(rows)
            print(f"| {model}, {name} | {NAMES[engine]}, {row} | {rate:,.0f} | {ours / rate:.2f} |", flush=True)


def main():
    if run_job(process):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["110M"])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--batch", type=int, default=16, help="prompts at once")
    parser.add_argument("--prompt-tokens", type=int, default=16)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--waves", type=int, default=4, help="batches that a program answers")
    options = options_of(parser, "--qkv", "build/cli/qkv", MODULES)
    print("| model, weights | program | tokens/s | qkv is faster by |")
    print("| --- | --- | --: | --: |", flush=True)
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            write_models(folder, model, options)
            for name in options.formats:
                measure(folder, model, name, options)


if __name__ == "__main__":
    main()
