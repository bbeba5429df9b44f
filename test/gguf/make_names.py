"""The names of tensors of Hugging Face in GGUF files, by the gguf package: names.json, for each architecture of the reader.

    pip install gguf==0.19.0 && python make_names.py
"""

import json
import pathlib
import re
import struct

import gguf

CHECKPOINTS = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma2": "gemma2", "gemma3": "gemma3", "phi3": "phi3",
    "gpt2": "gpt2", "falcon": "falcon", "bloom": "bloom", "gptneox": "gpt_neox", "bert": "bert", "t5": "mt5",
}  # fmt: skip


def modules(checkpoint):
    """Those of a checkpoint, with # for the layer."""
    folder = pathlib.Path(__file__).parent.parent / "checkpoints" / checkpoint
    with open(folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    stems = {name.rsplit(".", 1)[0].removeprefix("bert.") for name in header if name != "__metadata__"}
    return {re.sub(r"\.0\.", ".#.", stem, count=1) for stem in stems if not re.search(r"\.[1-9]\.(?!layer_norm|Enc|Dense)", stem)}


names = {}
for architecture, name in gguf.MODEL_ARCH_NAMES.items():
    if name not in CHECKPOINTS:
        continue
    mapping = gguf.get_tensor_name_map(architecture, 1).mapping
    known = {
        theirs.replace(".0.", ".#.", 1): ours.replace("blk.0.", "blk.#.") for theirs, (_, ours) in mapping.items()
    }
    names[name] = {stem: known[stem] for stem in sorted(modules(CHECKPOINTS[name])) if stem in known}
(pathlib.Path(__file__).parent / "names.json").write_text(json.dumps(names, indent=0) + "\n")
