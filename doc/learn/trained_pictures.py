"""Draws the weights of trained models for the chapters, doc/learn/picture/*_weights.svg.

qkv demo --folder dates
qkv demo --folder bahdanau --architecture bahdanau
qkv demo --folder window --self-attention window=1
qkv demo --folder multi_token --self-attention multi-token=3:5
python doc/learn/trained_pictures.py dates bahdanau window multi_token
"""

import pathlib
import sys

import qkv

PICTURES = pathlib.Path(__file__).resolve().parent / "picture"


def draw(name, maps, layer, title, **options):
    shown = {key: [token.replace("\u2581", "_") for token in getattr(maps, key)] for key in ("rows", "columns")}
    picture = qkv.heatmap(maps.layers[layer].round(2), **shown, title=title, **options)
    picture.save(PICTURES / f"{name}_weights.svg")


def main():
    dates, bahdanau, window, multi_token = (
        qkv.Translator(pathlib.Path(folder) / "model") for folder in sys.argv[1:5]
    )
    encoder, decoder, cross = dates.inspect("1. M\u00e4rz 1984").attention
    draw("encoder", encoder, 0, "encoder self-attention, first layer")
    draw("decoder", decoder, 0, "decoder self-attention, first layer", caption="rows: the token that is predicted")
    draw("cross", cross, -1, "cross-attention, last layer", caption="rows: the token that is predicted")
    draw("bahdanau", bahdanau.inspect("16 mai 2044").attention[0], 0, "additive attention")
    encoder = window.inspect("16 mai 2044").attention[0]
    draw("window", encoder, 0, "encoder self-attention, first layer, window of 1")
    encoder = multi_token.inspect("16 mai 2044").attention[0]
    draw("multi_token", encoder, 0, "encoder multi-token attention, first layer")


if __name__ == "__main__":
    main()
