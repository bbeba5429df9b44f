"""Blocks of every quantised format of GGUF and the numbers in them, by the gguf package: formats.safetensors.

    pip install gguf==0.19.0 numpy safetensors && python make_formats.py

For each format, a few blocks of random bytes with finite scales (NAME.bytes) and the floats in them (NAME.values); for the
formats that the package can write, numbers (x) and their blocks (NAME.encoded).
"""

import pathlib

import gguf
import numpy
from gguf import GGMLQuantizationType
from safetensors.numpy import save_file

SCALES = {  # where the f16 numbers of a block are
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_XS": [0],
}  # fmt: skip
rng = numpy.random.default_rng(5)
tensors = {}

x = rng.standard_normal((12, 32)).astype(numpy.float32)
x *= numpy.float32(10) ** rng.integers(-6, 4, (12, 1)).astype(numpy.float32)
x[3] = 0
x[4] = numpy.abs(x[4])
x[5, :] = numpy.arange(32) - 16  # ties
x[6, :] = numpy.where(numpy.arange(32) % 2, 127, -127)
x[7, 1:] = 0
tensors["x"] = x

for name, places in SCALES.items():
    kind = GGMLQuantizationType[name]
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (2 if numbers == 256 else 4, size), dtype=numpy.uint8)
    for place in places:
        halves = rng.standard_normal(len(blocks)).astype(numpy.float16)
        halves[0] = 3e-6  # subnormal
        blocks[:, place : place + 2] = halves.view(numpy.uint8).reshape(-1, 2)
    tensors[f"{name.lower()}.bytes"] = blocks
    tensors[f"{name.lower()}.values"] = gguf.quants.dequantize(blocks, kind)
    if name in ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"):
        tensors[f"{name.lower()}.encoded"] = gguf.quants.quantize(x, kind)

save_file(tensors, pathlib.Path(__file__).parent / "formats.safetensors")
