"""Writes test/golden/recurrent-*.safetensors: torch.nn.GRU and torch.nn.LSTM in float64, on float32 numbers.

    python test/golden/recurrent.py test/golden          # needs torch and safetensors
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

B, T, I, W = 3, 4, 3, 2
CASES = {
    "gru": {"cell": "gru"},
    "lstm": {"cell": "lstm"},
    "gru-bidirectional-lengths": {"cell": "gru", "bidirectional": True, "lengths": [4, 2, 1]},
    "lstm-two-layers": {"cell": "lstm", "layers": 2},
    "lstm-two-layers-bidirectional-lengths": {
        "cell": "lstm",
        "layers": 2,
        "bidirectional": True,
        "lengths": [2, 4, 3],
    },
}


def write(folder: Path, name: str, arguments: dict) -> None:
    torch.manual_seed(len(name))
    layers, directions = arguments.get("layers", 1), 2 if arguments.get("bidirectional") else 1
    kind = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[arguments["cell"]]
    net = kind(I, W, layers, batch_first=True, bidirectional=directions == 2)
    leaves = {key: value.detach() for key, value in net.named_parameters()}
    leaves["x"] = torch.randn(B, T, I)
    for state in ["h0", "c0"][: 1 if arguments["cell"] == "gru" else 2]:
        leaves[state] = torch.randn(layers * directions, B, W)
    tensors = {key: value.clone().contiguous() for key, value in leaves.items()}

    net = net.double()
    exact = {key: value.double().requires_grad_() for key, value in leaves.items()}
    states = (exact["h0"], exact["c0"]) if "c0" in exact else exact["h0"]
    lengths = arguments.get("lengths")
    x = exact["x"]
    if lengths:
        tensors["lengths"] = torch.tensor(lengths, dtype=torch.int32)
        x = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    weights = {key: exact[key] for key, _ in net.named_parameters()}
    out, last = torch.func.functional_call(net, weights, (x, states))
    if lengths:
        out, _ = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=T)
    tensors["grad_out"] = torch.randn(out.shape)
    (out * tensors["grad_out"].double()).sum().backward()
    tensors["out"] = out
    for key, value in zip(["h_n", "c_n"], last if isinstance(last, tuple) else [last], strict=False):
        tensors[key] = value
    for key, value in exact.items():
        tensors[f"grad_{key}"] = value.grad
    tensors = {k: v.detach() if v.dtype == torch.int32 else v.detach().float().contiguous() for k, v in tensors.items()}
    metadata = {"group": "recurrent", "case": name} | {k: v for k, v in arguments.items() if k != "lengths"}
    texts = {key: json.dumps(value) for key, value in metadata.items()}
    save_file(tensors, folder / f"recurrent-{name}.safetensors", texts)


for case, given in CASES.items():
    write(Path(sys.argv[1]), case, given)
