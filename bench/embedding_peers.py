#!/usr/bin/env python3
"""Vectors of texts by a BERT of random weights beside OpenVINO and ONNX Runtime: the mean of the hidden states.

    python3 bench/embedding_peers.py                                      # the shape of BERT-base; minutes
    python3 bench/embedding_peers.py --size small --work short --formats int8 --rounds 1

Batches of 16 texts of 128 tokens, and of 64 texts of 8 to 40. Every program is a process of its own, and they
take turns, round after round; of the rounds the best counts. Printed are texts a second, how much faster qkv in
the format is, and the smallest cosine of a text's vector and that of PyTorch in f32, both without the mean vector
of the texts (to which those of random weights are close).

`qkv embed` reads --batches batches and one more; the time that it takes for one is subtracted, which has the
reading of the model. It sorts texts by their lengths. OpenVINO and ONNX Runtime get the batches when a pass over
them has warmed them up; of their layouts the fastest is named: one worker with all threads or workers with a
thread each, short texts in the order they have or sorted, int8 beside f32 or bf16. OpenVINO reads a conversion of
the model of transformers, whose int8 nncf makes: of the weights alone (activations are rounded as the program
chooses), or of activations too, calibrated on such texts. ONNX Runtime gets a graph of its own fused operators,
and for int8 quantize_dynamic of it, a scale for each column; it has no bf16 on CPUs.

Needs build/cli/qkv, and from PyPI: nncf numpy onnx onnxruntime openvino torch transformers.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from peer_processes import answer, command_of, in_turn, options_of, run_job

SIZES = {
    "base": {"layers": 12, "width": 768, "ffn": 3072, "heads": 12, "vocabulary": 30_522},
    "small": {"layers": 2, "width": 128, "ffn": 512, "heads": 2, "vocabulary": 30_522},
}
# name: texts of a batch, and their shortest and longest lengths in tokens
WORK = {"long": (16, 128, 128), "short": (64, 8, 40)}
EPSILON = 1e-12
QKV = {
    "f32": {"f32": ["--weights", "f32"]},
    "bf16": {"bf16": ["--weights", "bf16", "--precision", "bf16"]},
    "int8": {"int8": ["--weights", "int8"]},
}
# format: of each program the file and the precisions of what is not in int8
PEERS = {
    "f32": {"OpenVINO": ("openvino", "f32", ["f32"]), "ONNX Runtime": ("onnxruntime", "f32", ["f32"])},
    "bf16": {"OpenVINO": ("openvino", "f32", ["bf16"])},
    "int8": {
        "OpenVINO, int8 weights": ("openvino", "int8-weights", ["f32", "bf16"]),
        "OpenVINO, int8": ("openvino", "int8", ["f32", "bf16"]),
        "ONNX Runtime": ("onnxruntime", "int8", ["f32"]),
    },
}
MODULES = ("nncf", "numpy", "onnx", "onnxruntime", "openvino", "torch", "transformers")
PAD, UNKNOWN, FIRST, LAST, MASK, WORDS = range(6)  # ids; from WORDS on each is a word


def texts_of(size, name, count):
    """Lists of ids, all different: qkv computes equal texts once."""
    batch, shortest, longest = WORK[name]
    draw = random.Random(6)
    vocabulary = SIZES[size]["vocabulary"]

    def text():
        words = draw.randint(shortest, longest) - 2
        return [FIRST, *(draw.randrange(WORDS, vocabulary) for _ in range(words)), LAST]

    return [text() for _ in range(count * batch)]


def padded(texts):
    import numpy

    lengths = numpy.array([len(text) for text in texts], numpy.int32)
    ids = numpy.full((len(texts), lengths.max()), PAD, numpy.int32)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return ids, lengths


def is_full(name):
    return WORK[name][1] == WORK[name][2]


def torch_model(job):
    import torch
    import transformers

    size = SIZES[job["size"]]
    config = transformers.BertConfig(
        vocab_size=size["vocabulary"],
        hidden_size=size["width"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        intermediate_size=size["ffn"],
        layer_norm_eps=EPSILON,
    )
    torch.manual_seed(1)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():  # biases and norms that a program may not leave out
        for name, tensor in model.named_parameters():
            if tensor.dim() == 1:
                tensor.copy_(name.endswith("Norm.weight") + 0.02 * torch.randn_like(tensor))
    return model


def pooled_model(model, masked):
    """The vectors as a function of ids, and of lengths if any text is padded."""
    import torch

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

    class Full(Pooled):
        def forward(self, ids):
            return self.model(input_ids=ids).last_hidden_state.mean(1)

    class Masked(Pooled):
        def forward(self, ids, lengths):
            mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
            hidden = self.model(input_ids=ids, attention_mask=mask[:, None, None]).last_hidden_state
            return (hidden * mask[..., None]).sum(1) / lengths[:, None]

    return Masked().eval() if masked else Full().eval()


def reference_process(job):
    """Writes the model for qkv, and the vectors of the first batch of each work."""
    import numpy
    import tokenizers
    import torch
    import transformers

    torch.set_num_threads(job["threads"])
    model = torch_model(job)
    model.save_pretrained(job["folder"])
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    names += [f"t{n}" for n in range(WORDS, SIZES[job["size"]]["vocabulary"])]
    words = tokenizers.models.WordPiece({name: n for n, name in enumerate(names)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", FIRST), ("[SEP]", LAST)]
    )
    special = dict(zip(("pad", "unk", "cls", "sep", "mask"), names, strict=False))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{kind}_token": name for kind, name in special.items()}
    ).save_pretrained(job["folder"])
    for name in job["work"]:
        texts = [torch.tensor([text]) for text in texts_of(job["size"], name, 1)]
        with torch.inference_mode():  # each for itself: no padding
            vectors = torch.cat([model(input_ids=text).last_hidden_state.mean(1) for text in texts]).numpy()
        numpy.save(os.path.join(job["folder"], f"{name}.npy"), vectors)
    return {}


def openvino_models_process(job):
    import nncf
    import numpy
    import openvino
    import torch

    model = torch_model(job)
    for name in job["work"]:
        batch = padded(texts_of(job["size"], name, 1))
        example = tuple(map(torch.from_numpy, batch))[: 1 if is_full(name) else 2]

        def converted(name=name, example=example):
            with torch.no_grad():
                found = openvino.convert_model(pooled_model(model, not is_full(name)), example_input=example)
            shapes = [[-1, -1], [-1]]
            found.reshape({i: openvino.PartialShape(shapes[i]) for i in range(len(example))})
            return found

        def calibration(name=name):
            """Other texts than those that are timed, and of other batches."""
            for texts in numpy.array_split(numpy.array(texts_of(job["size"], name, 60), object)[-16:], 4):
                yield dict(enumerate(padded(list(texts))[: 1 if is_full(name) else 2]))

        file = os.path.join(job["folder"], f"{name}-")
        openvino.save_model(converted(), f"{file}f32.xml", compress_to_fp16=False)
        if job["int8"]:
            compressed = nncf.compress_weights(converted(), mode=nncf.CompressWeightsMode.INT8_ASYM)
            openvino.save_model(compressed, f"{file}int8-weights.xml", compress_to_fp16=False)
            data = nncf.Dataset(list(calibration()))
            quantized = nncf.quantize(converted(), data, subset_size=4, model_type=nncf.ModelType.TRANSFORMER)
            openvino.save_model(quantized, f"{file}int8.xml", compress_to_fp16=False)
    return {}


def onnx_graph(model, size, masked):
    """BERT of the fused operators of ONNX Runtime, the mean behind it."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value), name))
        return name

    def node(kind, inputs, output, domain="com.microsoft", outputs=1, **attributes):
        outputs = [output, *[f"{output}.{n}" for n in range(1, outputs)]]
        nodes.append(helper.make_node(kind, inputs, outputs, output, domain=domain, **attributes))
        return output

    def weight(name):
        return constant(name, weights[name].T if weights[name].ndim == 2 else weights[name])

    def norm(name):
        return [weight(f"{name}.weight"), weight(f"{name}.bias")]

    positions = weights["embeddings.position_embeddings.weight"]
    tables = [
        constant("words", weights["embeddings.word_embeddings.weight"]),
        constant("positions", positions + weights["embeddings.token_type_embeddings.weight"][0]),
    ]
    inputs = ["ids", "", *tables, "", *norm("embeddings.LayerNorm")]
    hidden = node("EmbedLayerNormalization", inputs, "embedded", outputs=2, epsilon=EPSILON)
    for n in range(size["layers"]):
        layer = f"encoder.layer.{n}."
        parts = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
        packed = [
            constant(f"{layer}qkv", numpy.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)),
            constant(f"{layer}qkv.bias", numpy.concatenate([weights[f"{part}.bias"] for part in parts])),
        ]
        mask = ["lengths"] if masked else []
        heads = node("Attention", [hidden, *packed, *mask], f"{layer}heads", num_heads=size["heads"])
        name = f"{layer}attention.output.dense"
        out = node("MatMul", [heads, weight(f"{name}.weight")], f"{layer}out", domain="")
        inputs = [out, hidden, *norm(f"{layer}attention.output.LayerNorm"), weight(f"{name}.bias")]
        hidden = node("SkipLayerNormalization", inputs, f"{layer}between", epsilon=EPSILON)
        name = f"{layer}intermediate.dense"
        wide = node("MatMul", [hidden, weight(f"{name}.weight")], f"{layer}wide", domain="")
        wide = node("BiasGelu", [wide, weight(f"{name}.bias")], f"{layer}gelu")
        name = f"{layer}output.dense"
        out = node("MatMul", [wide, weight(f"{name}.weight")], f"{layer}narrow", domain="")
        inputs = [out, hidden, *norm(f"{layer}output.LayerNorm"), weight(f"{name}.bias")]
        hidden = node("SkipLayerNormalization", inputs, f"{layer}hidden", epsilon=EPSILON)
    if masked:
        weighted = node("Mul", [hidden, "shares"], "weighted", domain="")
        axis = constant("axis", numpy.array([1]))
        node("ReduceSum", [weighted, axis], "vectors", domain="", keepdims=0)
    else:
        node("ReduceMean", [hidden, constant("axis", numpy.array([1]))], "vectors", domain="", keepdims=0)
    given = [helper.make_tensor_value_info("ids", TensorProto.INT32, ["B", "S"])]
    if masked:
        given.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]))
        given.append(helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["B", "S", 1]))
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["B", size["width"]])
    graph = helper.make_graph(nodes, "bert", given, [vectors], constants)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=versions, ir_version=10)
    onnx.checker.check_model(made)
    return made


def onnx_models_process(job):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = torch_model(job)
    for name in job["work"]:
        file = os.path.join(job["folder"], f"{name}-")
        onnx.save(onnx_graph(model, SIZES[job["size"]], not is_full(name)), f"{file}f32.onnx")
        if job["int8"]:
            options = {"per_channel": True, "weight_type": QuantType.QInt8}
            options |= {"extra_options": {"DefaultTensorType": onnx.TensorProto.FLOAT}}
            quantize_dynamic(f"{file}f32.onnx", f"{file}int8.onnx", **options)
    return {}


def open_openvino(job, workers):
    """encode(texts), which several threads may call."""
    import openvino

    core = openvino.Core()
    model = core.read_model(job["file"] + ".xml")
    if is_full(job["name"]):
        model.reshape({0: [job["batch"], WORK[job["name"]][2]]})
    settings = {"NUM_STREAMS": workers, "INFERENCE_NUM_THREADS": job["threads"]}
    settings |= {"INFERENCE_PRECISION_HINT": job["precision"]}
    compiled = core.compile_model(model, "CPU", settings)
    of_thread = threading.local()

    def encode(batch):
        if not hasattr(of_thread, "request"):
            of_thread.request = compiled.create_infer_request()
        of_thread.request.infer(dict(enumerate(batch[: len(compiled.inputs)])))
        return of_thread.request.get_output_tensor().data.copy()

    return encode


def open_onnxruntime(job, workers):
    import numpy
    import onnxruntime

    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = job["threads"] // workers
    session = onnxruntime.InferenceSession(job["file"] + ".onnx", how, providers=["CPUExecutionProvider"])
    names = {given.name for given in session.get_inputs()}

    def encode(batch):
        ids, lengths = batch
        feed = {"ids": ids}
        if "lengths" in names:
            is_token = numpy.arange(ids.shape[1])[None] < lengths[:, None]
            feed |= {"lengths": lengths, "shares": (is_token / lengths[:, None]).astype(numpy.float32)[..., None]}
        return session.run(None, feed)[0]

    return encode


OPEN = {"openvino": open_openvino, "onnxruntime": open_onnxruntime}


def engine_process(job):
    """Texts a second of each layout; writes the vectors of the first batch."""
    import numpy

    texts = texts_of(job["size"], job["name"], job["batches"] + 1)
    batch = job["batch"]
    first, rest = texts[:batch], texts[batch:]
    orders = {"": rest} if is_full(job["name"]) else {"": rest, ", sorted": sorted(rest, key=len)}
    rates = {}
    for workers in sorted({1, job["threads"]}):
        encode = OPEN[job["engine"]](job, workers)
        numpy.save(job["vectors"], encode(padded(first)))
        for order, ordered in orders.items():
            batches = [padded(ordered[i : i + batch]) for i in range(0, len(ordered), batch)]
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(encode, batches))
                begin = time.perf_counter()
                list(pool.map(encode, batches))
                rates[f"{workers}x{job['threads'] // workers}{order}"] = len(rest) / (time.perf_counter() - begin)
    return rates


PROCESSES = {
    "reference": reference_process,
    "openvino models": openvino_models_process,
    "onnx models": onnx_models_process,
    "engine": engine_process,
}


def process(job):
    return PROCESSES[job["kind"]](job)


def qkv(folder, name, how, options):
    """Seconds for one batch and for all of them."""
    batch, _, longest = WORK[name]
    command = [options.qkv, "embed", "--model", folder, *how, "--pooling", "mean", "--format", "npy", "--quiet"]
    command += ["--batch-tokens", str(batch * longest), "--threads", str(options.threads)]
    seconds = {}
    for what in ("one", "all"):
        source = os.path.join(folder, f"{name}-{what}.txt")
        begin = time.perf_counter()
        subprocess.run(
            [*command, "--input", source, "--output", f"{source}.npy"], check=True, capture_output=True, timeout=900
        )
        seconds[what] = time.perf_counter() - begin
    return seconds


def write_texts(folder, name, options):
    texts = texts_of(options.size, name, options.batches + 1)
    for what, written in (("one", texts[: WORK[name][0]]), ("all", texts)):
        with open(os.path.join(folder, f"{name}-{what}.txt"), "w", encoding="utf-8") as file:
            file.writelines(" ".join(f"t{word}" for word in text[1:-1]) + "\n" for text in written)


def smallest_cosine(folder, name, file):
    import numpy

    right = numpy.load(os.path.join(folder, f"{name}.npy"))
    same = right.mean(0)
    right, found = right - same, numpy.load(file) - same
    norms = numpy.linalg.norm(right, axis=1) * numpy.linalg.norm(found, axis=1)
    return float(((right * found).sum(1) / norms).min())


def qkv_rows(folder, name, weights, options):
    """{row: a call} of qkv."""
    return {
        row: lambda how=how: qkv(folder, name, how, options) | {"cosine": cosine_of_qkv(folder, name)}
        for row, how in QKV[weights].items()
    }


def cosine_of_qkv(folder, name):
    return smallest_cosine(folder, name, os.path.join(folder, f"{name}-one.txt.npy"))


def peer(folder, job):
    vectors = os.path.join(folder, "vectors.npy")
    rates = answer(command_of(__file__, job | {"vectors": vectors}))
    return {"rates": rates, "cosine": smallest_cosine(folder, job["name"], vectors)}


def peer_rows(folder, name, weights, options):
    """{(row, precision): a call} of the others."""
    rows = {}
    for row, (engine, file, precisions) in PEERS[weights].items():
        for precision in precisions:
            job = {"kind": "engine", "engine": engine, "file": os.path.join(folder, f"{name}-{file}")}
            job |= {"name": name, "batch": WORK[name][0], "batches": options.batches, "size": options.size}
            job |= {"precision": precision, "threads": options.threads}
            rows[row, precision] = lambda job=job: peer(folder, job)
    return rows


def measure(folder, name, weights, options):
    batch, shortest, longest = WORK[name]
    lengths = str(longest) if is_full(name) else f"{shortest} to {longest}"
    work = f"{batch} x {lengths}, {weights}"
    ours, theirs = qkv_rows(folder, name, weights, options), peer_rows(folder, name, weights, options)
    found = in_turn(ours | theirs, options)
    rates = {}
    for row in ours:
        one, all_of_them = (min(seconds[what] for seconds in found[row]) for what in ("one", "all"))
        if all_of_them < 1.2 * one:
            print(f"{row}: {one:.3f} s for one batch, {all_of_them:.3f} s for all: more --batches", file=sys.stderr)
        rates[row] = options.batches * batch / max(all_of_them - one, 1e-9)
        print(f"| {work} | qkv, {row} | {rates[row]:,.1f} | | {found[row][0]['cosine']:.5f} |", flush=True)
    for row, (*_, precisions) in PEERS[weights].items():
        best = max(
            (rate, f"{layout}, {precision}" if len(precisions) > 1 else layout, run["cosine"])
            for precision in precisions
            for run in found[row, precision]
            for layout, rate in run["rates"].items()
        )
        rate, layout, cosine = best
        factor = max(rates.values()) / rate
        print(f"| {work} | {row} ({layout}) | {rate:,.1f} | {factor:.2f} | {cosine:.5f} |", flush=True)


def main():
    if run_job(process):
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--formats", nargs="+", choices=QKV, default=list(QKV))
    parser.add_argument("--batches", type=int, default=8, help="that a round times")
    options = options_of(parser, "--qkv", "build/cli/qkv", MODULES)
    with tempfile.TemporaryDirectory() as folder:
        job = {"size": options.size, "folder": folder, "work": options.work, "threads": options.threads}
        job |= {"int8": "int8" in options.formats}
        for kind in ("reference", "openvino models", "onnx models"):
            answer(command_of(__file__, job | {"kind": kind}))
        print("| texts x tokens, format | program | texts/s | qkv is faster by | cosine |")
        print("| --- | --- | --: | --: | --: |", flush=True)
        for name in options.work:
            write_texts(folder, name, options)
            for weights in options.formats:
                measure(folder, name, weights, options)


if __name__ == "__main__":
    main()
