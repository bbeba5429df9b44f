#!/usr/bin/env python3
"""The training of a qkv model once more, in plain PyTorch: the same data, vocabulary, architecture and recipe.

    qkv train --train pairs.tsv --valid valid.tsv --model m
    python3 bench/train_pytorch.py --model m --out m-pytorch          # reads m/training/options.json
    qkv evaluate --model m-pytorch --input test.tsv                   # the result is a model of qkv

Prints a line every report-every updates, beside that of m/training/log.jsonl: update, loss of PyTorch, loss of qkv,
tokens a second of both. Batches, dropout and initial parameters are random: the curves agree up to that noise.
Pre-LN, post-LN; the attention variant must be `full`, the positions sinusoidal.

Needs torch, numpy and sentencepiece.
"""

import argparse
import gzip
import json
import math
import shutil
import struct
import sys
import time
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from torch.nn import functional as F

PAD, BOS, EOS = 0, 1, 2


def lines(name):
    with gzip.open(name, "rt", encoding="utf-8") if name.endswith(".gz") else open(name, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def read_pairs(spec):
    files = spec.split(",")
    if len(files) == 2:
        return list(zip(lines(files[0]), lines(files[1])))
    return [tuple(line.split("\t")[:2]) for line in lines(files[0])]


def epochs(pairs, batch_tokens, seed):
    """Batches of indices, epoch after epoch: sorted by length, cut, shuffled, as in qkv/text/batches.cc."""
    random = np.random.default_rng(seed)
    source = np.array([len(s) for s, _ in pairs])
    target = np.array([len(t) for _, t in pairs])
    while True:
        order = random.permutation(len(pairs))
        alternating = np.where(target % 2 == 0, source, -source)
        order = order[np.lexsort((alternating[order], target[order]))]
        batches, batch, longest = [], [], 0
        for i in order:
            longer = max(longest, source[i], target[i])
            if batch and longer * (len(batch) + 1) > batch_tokens:
                batches.append(batch)
                batch, longer = [], max(source[i], target[i])
            batch.append(i)
            longest = longer
        batches.append(batch)
        for k in random.permutation(len(batches)):
            yield batches[k]


def padded(rows):
    out = torch.full((len(rows), max(map(len, rows))), PAD)
    for row, ids in zip(out, rows):
        row[: len(ids)] = torch.tensor(ids)
    return out


class Transformer:
    """The encoder-decoder Transformer as functions of parameters that have the names of qkv's."""

    def __init__(self, config, parameters):
        self.c, self.p = config, parameters
        position = torch.arange(1024)[:, None] * torch.exp(
            -math.log(10000) * torch.arange(0, config["d_model"], 2) / config["d_model"]
        )
        self.positions = torch.stack([position.sin(), position.cos()], -1).flatten(1)

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p[name + ".weight"], self.p[name + ".bias"])

    def dropout(self, x):
        return F.dropout(x, self.c["dropout"])

    def attention(self, x, memory, name, mask=None, causal=False):
        def heads(y):
            return y.unflatten(-1, (self.c["heads"], -1)).transpose(1, 2)

        q = heads(self.linear(x, name + ".query"))
        k, v = heads(self.linear(memory, name + ".key")), heads(self.linear(memory, name + ".value"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.linear(y.transpose(1, 2).flatten(2), name + ".out")

    def feed_forward(self, x, name):
        return self.linear(F.relu(self.linear(x, name + ".feed_forward.up")), name + ".feed_forward.down")

    def residual(self, x, norm, sublayer):
        if self.c["norm_order"] == "pre":
            return x + self.dropout(sublayer(self.norm(x, norm)))
        return self.norm(x + self.dropout(sublayer(x)), norm)

    def embed(self, ids):
        x = F.embedding(ids, self.p["source_embedding"]) * math.sqrt(self.c["d_model"])
        return self.dropout(x + self.positions[: ids.shape[1]])

    def loss(self, source, target_in, target_out, smoothing):
        """Sums over the target tokens."""
        mask = (source != PAD)[:, None, None, :]
        x = self.embed(source)
        for n in range(self.c["encoder_layers"]):
            name = f"encoder.layers.{n}"
            x = self.residual(x, name + ".norm1", lambda z: self.attention(z, z, name + ".self_attention", mask))
            x = self.residual(x, name + ".norm2", lambda z: self.feed_forward(z, name))
        if self.c["norm_order"] == "pre":
            x = self.norm(x, "encoder.norm")
        y = self.embed(target_in)
        for n in range(self.c["decoder_layers"]):
            name = f"decoder.layers.{n}"
            y = self.residual(
                y, name + ".norm1", lambda z: self.attention(z, z, name + ".self_attention", causal=True)
            )
            y = self.residual(y, name + ".norm2", lambda z: self.attention(z, x, name + ".cross_attention", mask))
            y = self.residual(y, name + ".norm3", lambda z: self.feed_forward(z, name))
        if self.c["norm_order"] == "pre":
            y = self.norm(y, "decoder.norm")
        real = target_out != PAD
        logits = F.linear(y[real], self.p["source_embedding"])
        return F.cross_entropy(logits, target_out[real], label_smoothing=smoothing, reduction="sum")


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])
    return tensors, metadata


def initial(shapes):
    parameters = {}
    for name, value in shapes.items():
        p = torch.zeros(value.shape)
        if name == "source_embedding":
            torch.nn.init.normal_(p, std=value.shape[1] ** -0.5)
        elif len(value.shape) == 2:
            torch.nn.init.uniform_(p, -(p.shape[1] ** -0.5), p.shape[1] ** -0.5)
        elif "norm" in name and name.endswith("weight"):
            p.fill_(1)
        parameters[name] = p.requires_grad_()
    return parameters


def rate(step, o, peak, warmup):
    if step < warmup:
        return peak * step / warmup
    if o["schedule"] == "inverse-sqrt":
        return peak * math.sqrt(warmup / step)
    if o["schedule"] == "linear":
        return peak * (1 - (step - warmup) / max(1, o["max-steps"] - warmup))
    sys.exit(f"schedule {o['schedule']} is not implemented here")


def save(model, out, parameters, metadata):
    """The folder of the model with other parameters."""
    out.mkdir(exist_ok=True)
    for name in ("config.json", "source.model", "target.model"):
        shutil.copyfile(model / name, out / name)
    header, data = {}, b""
    for name, p in parameters.items():
        raw = p.detach().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(p.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header["__metadata__"] = {k: v for k, v in metadata.items() if k != "qkv.checksum"}
    text = json.dumps(header).encode()
    (out / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the model that qkv trained")
    parser.add_argument("--out", type=Path, required=True, help="folder that the model of PyTorch is written to")
    parser.add_argument("--steps", type=int, default=0, help="end after this number of updates and write no model")
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)

    o = json.loads((args.model / "training/options.json").read_text())
    config = json.loads((args.model / "config.json").read_text())
    shapes, metadata = read_safetensors(args.model / "model.safetensors")
    torch.manual_seed(o["seed"])
    log = [json.loads(line) for line in (args.model / "training/log.jsonl").read_text().splitlines()]
    ours = {line["step"]: line for line in log if "learning_rate" in line}
    warmup = o["warmup"] or max(1, o["max-steps"] // 12)
    update = o["batch-tokens"] * o["accumulate"]
    peak = o["learning-rate"] or 0.64 / config["d_model"] * min(1, math.sqrt(update / 4096))

    if o["accumulate"] != 1 or o["batch-sentences"] != 0 or config["tie"] != "all":
        sys.exit("accumulate, batch-sentences and tie must be 1, 0 and all")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(args.model / "source.model"))
    pairs = [
        (s + [EOS], t + [EOS])
        for s, t in (tokenizer.encode(list(pair)) for pair in read_pairs(o["train"]))
        if len(s) < o["max-length"] and len(t) < o["max-length"]
    ]
    batches = epochs(pairs, o["batch-tokens"], o["seed"])
    parameters = initial(shapes)
    model = Transformer(config, parameters)
    adam = torch.optim.Adam(parameters.values(), lr=peak, betas=(o["beta1"], o["beta2"]), eps=o["eps"], fused=True)
    last = args.steps or o["max-steps"]
    total, tokens, seconds, all_seconds = 0.0, 0, 0.0, 0.0
    print("  update    loss, PyTorch    loss, qkv    tokens/s, PyTorch    tokens/s, qkv")
    for step in range(1, last + 1):
        begin = time.perf_counter()
        batch = [pairs[i] for i in next(batches)]
        source, target = padded([s for s, _ in batch]), padded([t for _, t in batch])
        shifted = torch.cat([torch.full((len(batch), 1), BOS), target[:, :-1]], 1)
        shifted[shifted == EOS] = PAD
        loss = model.loss(source, shifted, target, o["label-smoothing"])
        count = int((target != PAD).sum())
        adam.zero_grad()
        (loss / count).backward()
        for group in adam.param_groups:
            group["lr"] = rate(step, o, peak, warmup)
        adam.step()
        total, tokens = total + loss.item(), tokens + count
        seconds += time.perf_counter() - begin
        if step % o["report-every"] == 0:
            theirs = ours.get(step, {"loss": math.nan, "tokens_per_s": math.nan})
            print(
                f"{step:8} {total / tokens:16.3f} {theirs['loss']:12.3f} {tokens / seconds:20.0f}"
                f" {theirs['tokens_per_s']:16.0f}",
                flush=True,
            )
            all_seconds += seconds
            total, tokens, seconds = 0.0, 0, 0.0
    print(f"{all_seconds:.0f} s")
    if not args.steps:
        save(args.model, args.out, parameters, metadata)


main()
