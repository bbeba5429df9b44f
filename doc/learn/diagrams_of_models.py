"""Diagrams of the chapters on Transformers, their training and their use."""

import math

from draw import Diagram


def positions():
    d = Diagram(
        680,
        270,
        "Where the position enters",
        "Sinusoidal and learned positions are added to the inputs, rotary rotates queries and keys, ALiBi and "
        "relative bias "
        "are added to the scores.",
    )
    d.box(40, 110, 90, 40, "tokens\n(T,C)", "plain", 13)
    d.arrow(130, 130, 176, 130)
    d.box(176, 116, 30, 28, "+", "plain")
    d.box(140, 30, 106, 44, "P[p]: sinusoidal\nor learned", "k", 12)
    d.arrow(191, 74, 191, 116)
    d.arrow(206, 130, 250, 130)
    d.box(250, 110, 70, 40, "q, k\n(T,D)", "q", 13)
    d.arrow(320, 130, 360, 130)
    d.box(360, 116, 62, 28, "rotate", "plain", 13)
    d.box(346, 30, 92, 44, "rotary:\nangle p w_c", "k", 12)
    d.arrow(391, 74, 391, 116)
    d.arrow(422, 130, 456, 130)
    d.box(456, 110, 70, 40, "scores\n(T,S)", "w", 13)
    d.arrow(526, 130, 560, 130)
    d.box(560, 116, 30, 28, "+", "plain")
    d.box(512, 30, 124, 44, "ALiBi, relative bias:\na function of i - j", "k", 12)
    d.arrow(575, 74, 575, 116)
    d.arrow(590, 130, 626, 130)
    d.text(632, 135, "softmax", 12, "start")
    d.text(191, 190, "absolute:", 13, weight="bold")
    d.text(191, 208, "once, at the bottom", 13)
    d.text(391, 190, "absolute in, relative out:", 13, weight="bold")
    d.text(391, 208, "in every layer", 13)
    d.text(575, 190, "relative:", 13, weight="bold")
    d.text(575, 208, "in every layer", 13)
    d.text(340, 250, "without any of them attention treats its keys as a set", 13)
    return d


def blocks():
    d = Diagram(
        680,
        470,
        "Encoder and decoder layer, pre-LN",
        "An encoder layer: norm and self-attention, added to the stream; norm and feed-forward, added. A decoder "
        "layer has "
        "cross-attention to the encoder's output between them.",
    )

    def stack(x, names, title):
        top = 440 - 110 * len(names)
        d.arrow(x, 440, x, top - 6)
        d.text(x, 464, title, 14, weight="bold")
        for at, (name, kind) in enumerate(names):
            y = 440 - 110 * at
            d.path([(x, y - 12), (x + 44, y - 12), (x + 44, y - 22)])
            d.box(x + 12, y - 46, 64, 24, "norm", "plain", 12)
            d.arrow(x + 44, y - 46, x + 44, y - 56)
            d.box(x - 6 + 10, y - 84, 140, 28, name, kind, 12)
            d.path([(x + 44, y - 84), (x + 44, y - 95), (x + 9, y - 95)])
            d.box(x - 9, y - 104, 18, 18, "+", "plain", 13)
        return top

    stack(110, [("self-attention", "w"), ("feed-forward (F)", "v")], "encoder layer: x (B,S,C)")
    stack(420, [("self-attention, causal", "w"), ("cross-attention", "k"), ("feed-forward (F)", "v")],
          "decoder layer: x (B,T,C)")  # fmt: skip
    d.path([(110, 208), (110, 150), (300, 150), (300, 260), (424, 260)])
    d.text(300, 140, "encoder output: k, v (B,S,C)", 12)
    d.text(70, 330, "residual", 12, "end")
    d.text(70, 346, "stream", 12, "end")
    return d


def embeddings():
    d = Diagram(
        660,
        250,
        "Embedding and output share one matrix",
        "Ids select rows of E (V, C); blocks change the vectors; the output is compared with every row of E, "
        "which gives "
        "logits (V), and a softmax gives probabilities.",
    )
    d.matrix(30, 100, 1, 3, "plain", "ids", "", "T", 24, None, [["7", "2", "7"]])
    d.arrow(110, 112, 146, 112)
    rows = [[0.1] * 4 for _ in range(6)]
    rows[2] = rows[4] = [0.6] * 4
    d.matrix(176, 60, 6, 4, "k", "E", "V", "C", 18, rows)
    d.arrow(256, 112, 290, 112)
    d.box(290, 90, 80, 44, "x sqrt(C)\n+ P[t]", "plain", 12)
    d.arrow(370, 112, 396, 112)
    d.box(396, 84, 74, 56, "blocks\n(T,C)", "w", 13)
    d.arrow(470, 112, 500, 112)
    d.matrix(520, 60, 6, 4, "k", "E again", "V", "C", 18, [[0.1] * 4 for _ in range(6)])
    d.arrow(600, 112, 626, 112)
    d.text(640, 86, "logits", 13)
    d.text(644, 117, "V", 14, weight="bold")
    d.text(330, 234, "bottom: look rows up by id.  top: compare the vector with every row", 13)
    return d


def training():
    d = Diagram(
        640,
        240,
        "Warm-up and decay",
        "The learning rate rises linearly for the warm-up, then falls: with the inverse root of n, or linearly to "
        "zero.",
    )
    d.arrow(50, 200, 610, 200)
    d.arrow(50, 210, 50, 24)
    d.text(596, 222, "updates n")
    d.text(60, 34, "learning rate", anchor="start")
    peak, warm = 140, 110

    def place(x, y):
        return 50 + x, 200 - y

    d.curve(
        [place(0, 0), place(warm, peak)] + [place(x, peak * math.sqrt(warm / x)) for x in range(warm, 540, 10)], "q"
    )
    d.curve([place(warm, peak), place(540, 0)], "k", dashed=True)
    d.path([(50 + warm, 200), (50 + warm, 206)], arrow=False)
    d.text(50 + warm, 222, "w: end of the warm-up", 13)
    d.text(460, 112, "inverse square root", 13, color="#0072b2")
    d.text(360, 176, "linear", 13, color="#b26b00")
    return d


def search():
    d = Diagram(
        660,
        270,
        "Greedy and beam search",
        "From 'the', 'cat' has probability 0.6 and 'dog' 0.4. After 'cat' the best word has 0.4, in all 0.24; "
        "after 'dog' "
        "'barked' has 1.0, in all 0.40.",
    )
    d.box(30, 116, 70, 34, "the", "plain")
    d.arrow(100, 128, 190, 80)
    d.arrow(100, 138, 190, 196)
    d.text(136, 88, "0.6", 13)
    d.text(136, 184, "0.4", 13)
    d.box(190, 60, 80, 34, "cat", "k")
    d.box(190, 180, 80, 34, "dog", "q")
    for at, (word, p) in enumerate((("sat", "0.4"), ("ran", "0.3"), ("hid", "0.3"))):
        d.arrow(270, 77, 370, 36 + 42 * at)
        d.box(370, 20 + 42 * at, 76, 32, word, "k" if at == 0 else "none")
        d.text(340, 34 + 38 * at, p, 12)
    d.arrow(270, 197, 370, 197)
    d.text(320, 190, "1.0", 13)
    d.box(370, 180, 76, 34, "barked", "q")
    d.text(462, 41, "greedy: 0.6 x 0.4 = 0.24", 13, "start", "#b26b00")
    d.text(462, 202, "beam: 0.4 x 1.0 = 0.40", 13, "start", "#0072b2")
    d.text(330, 254, "each step of a beam keeps the best prefixes, whatever they begin with", 13)
    return d


def families():
    d = Diagram(
        660,
        270,
        "Three families by their masks",
        "Encoder-decoder: a full square for the source, a triangle for the target, a full rectangle between them. "
        "Encoder: a full "
        "square. Decoder: a triangle.",
    )
    full, triangle = [[0.7] * 5 for _ in range(5)], [[0.7 if j <= i else None for j in range(5)] for i in range(5)]
    d.text(180, 30, "encoder-decoder (T5, Marian)", 14, weight="bold")
    d.matrix(40, 70, 5, 5, "k", "source", "S", "S", 16, full)
    d.matrix(140, 70, 5, 5, "w", "cross", "T", "S", 16, full)
    d.matrix(240, 70, 5, 5, "q", "target", "T", "T", 16, triangle)
    d.text(180, 222, "source: both sides; target: the past", 13)
    d.text(410, 30, "encoder (BERT)", 14, weight="bold")
    d.matrix(370, 70, 5, 5, "k", "text", "S", "S", 16, full)
    d.text(410, 222, "reads both sides", 13)
    d.text(570, 30, "decoder (GPT, Llama)", 14, weight="bold")
    d.matrix(530, 70, 5, 5, "q", "text", "T", "S", 16, triangle)
    d.text(570, 222, "reads the past", 13)
    d.text(330, 256, "filled: visible; crossed: masked", 13)
    return d


def translator():
    d = Diagram(
        680,
        220,
        "From pairs to translations",
        "Pairs of sentences train a tokenizer; batches of token ids train the model; held-out pairs validate it; "
        "the model folder "
        "translates.",
    )
    d.box(20, 70, 96, 48, "pairs.tsv", "plain", 13)
    d.arrow(116, 94, 146, 94)
    d.box(146, 70, 96, 48, "tokenizer\n(V pieces)", "k", 13)
    d.arrow(242, 94, 272, 94)
    d.box(272, 70, 100, 48, "batches\n(B,S), (B,T)", "plain", 13)
    d.arrow(372, 94, 402, 94)
    d.box(402, 70, 100, 48, "updates:\nloss, Adam", "w", 13)
    d.arrow(502, 94, 532, 94)
    d.box(532, 70, 120, 48, "model folder", "v", 13)
    d.box(252, 150, 140, 40, "held-out pairs", "plain", 13)
    d.path([(68, 118), (68, 170), (252, 170)])
    d.path([(392, 170), (452, 170), (452, 118)])
    d.text(462, 166, "validation: loss, BLEU, samples", 12, "start")
    d.text(592, 44, "translate, inspect", 13)
    d.arrow(592, 70, 592, 50)
    return d


def reading():
    d = Diagram(
        660,
        270,
        "Three patterns of heads",
        "Previous token: a line beside the diagonal. First token: the first column. Induction: in the second copy "
        "of A B C, each "
        "token looks at what followed its first copy.",
    )
    tokens = list("ABCABC")
    rules = {
        "previous token": lambda i: i - 1,
        "first token": lambda i: 0,
        "induction": lambda i: i - 2 if i >= 3 else 0,
    }
    for at, (name, target) in enumerate(rules.items()):
        left = 60 + 210 * at
        shades = [[None if j > i else 0.85 if j == max(target(i), 0) else 0.03 for j in range(6)] for i in range(6)]
        d.matrix(left, 70, 6, 6, "w", name, "", "", 24, shades)
        for j, token in enumerate(tokens):
            d.text(left + 24 * j + 12, 62, token, 13)
            d.text(left - 12, 70 + 24 * j + 17, token, 13)
    d.text(330, 26, "rows: queries (T), columns: keys (S)", 13)
    d.text(330, 258, "induction continues A B C A B ... with what came next the last time", 13)
    return d


DIAGRAMS = {
    "positions": positions,
    "blocks": blocks,
    "embeddings": embeddings,
    "training": training,
    "search": search,
    "families": families,
    "translator": translator,
    "reading": reading,
}
