"""Writes a trained model as a script for translation.html: its pieces, and its weights as 16-bit floats in base64.

qkv demo --folder demo
python3 translation_model.py demo/model >translation_model.js

For an encoder-decoder of the form that `qkv demo` trains, whose tokens are characters; transformer.js computes it.
"""

import array
import base64
import json
import pathlib
import struct
import sys

# What transformer.js has no other form of.
FORM = {
    "architecture": "transformer", "norm_order": "pre", "norm_kind": "layer", "activation": "relu",
    "gated_ffn": False, "positions": "sinusoidal", "tie": "all", "attention_bias": True, "ffn_bias": True,
    "query_key_norm": False,
    "kv_heads": 0, "head_width": 0, "encoder_self_attention": "full", "decoder_self_attention": "full",
    "cross_attention": "full",
}  # fmt: skip


def fields(message):
    """(number, value) of a message of protocol buffers: integers, four bytes, or the bytes of what has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield key >> 3, message[at : at + size]
        at += size


def pieces(path):
    """The pieces of a SentencePiece model, in the order of their ids."""
    return [dict(fields(piece))[1].decode() for number, piece in fields(path.read_bytes()) if number == 1]


def tensors(path):
    """(name, shape, f32 numbers) of a safetensors file."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            sys.exit(f"{path}: {name} is {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        yield name, entry["shape"], array.array("f", content[8 + size + begin : 8 + size + end])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: translation_model.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    for key, value in FORM.items():
        if config[key] != value:
            sys.exit(f"{folder}: transformer.js computes models with {key} {value}, not {config[key]}")
    shapes, data = {}, b""
    for name, shape, numbers in tensors(folder / "model.safetensors"):
        shapes[name] = [len(data) // 2, *shape]
        data += struct.pack(f"<{len(numbers)}e", *numbers)
    model = {key: config[key] for key in ("d_model", "heads", "encoder_layers", "decoder_layers", "norm_eps")}
    model |= {"pieces": pieces(folder / "source.model"), "shapes": shapes, "data": base64.b64encode(data).decode()}
    print(f"const model = {json.dumps(model)};")
    print('if (typeof module !== "undefined") module.exports = model;')


if __name__ == "__main__":
    main()
