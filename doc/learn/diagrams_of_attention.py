"""Diagrams of the chapters on attention and how it is computed."""

import math

from draw import Diagram


def kernel_regression():
    d = Diagram(
        640,
        300,
        "Kernel regression",
        "Measured points on a curve; a query on the x axis; a bell around it gives near points a large weight.",
    )

    def place(x, y):
        return 50 + x * 106, 250 - y * 30

    d.arrow(40, 250, 610, 250)
    d.arrow(50, 260, 50, 24)
    d.text(600, 272, "x")
    d.text(34, 34, "y")
    keys = [0.3, 0.8, 1.5, 2.1, 2.4, 3.0, 3.7, 4.2, 4.8]
    q, sigma = 2.6, 0.45
    bell = [(x / 50, 5 * math.exp(-((x / 50 - q) ** 2) / 2 / sigma**2)) for x in range(30, 230, 4)]
    d.curve([place(x, 0.8 * y) for x, y in bell], "w", dashed=True)
    total = sum(math.exp(-((q - k) ** 2) / 2 / sigma**2) for k in keys)
    for k in keys:
        weight = math.exp(-((q - k) ** 2) / 2 / sigma**2) / total
        x, y = place(k, 2 * math.sin(k) + k)
        d.dot(x, y, "k", 3 + 14 * weight)
        d.path([(x, 250), (x, 254)], arrow=False)
    out = sum(math.exp(-((q - k) ** 2) / 2 / sigma**2) * (2 * math.sin(k) + k) for k in keys) / total
    x, y = place(q, 0)
    d.path([(x, y), (x, place(q, out)[1])], arrow=False)
    d.box(x - 6, place(q, out)[1] - 6, 12, 12, "", "q")
    d.text(x, 272, "query q")
    d.text(x + 14, place(q, out)[1] - 14, "output", anchor="start")
    d.text(place(0.8, 0)[0] - 4, 272, "keys k", anchor="middle")
    d.text(place(1.5, 0)[0] - 16, place(1.5, 2 * math.sin(1.5) + 1.5)[1] - 12, "values v", anchor="end")
    d.text(place(3.6, 0)[0], place(0, 1.2)[1], "kernel: the weight of a key", anchor="start", color="#a03d74")
    return d


def softmax():
    d = Diagram(
        640,
        250,
        "The softmax sharpens as scores grow",
        "Scores 2, 1, 0 become weights 0.67, 0.24, 0.09. Divided by four: 0.42, 0.33, 0.25. Times four: 0.98, "
        "0.02, 0.",
    )

    def bars(left, numbers, kind, labels, top):
        for at, number in enumerate(numbers):
            height = number / top * 120
            d.box(left + 46 * at, 190 - height, 34, height, "", kind)
            d.text(left + 46 * at + 17, 190 - height - 6, labels[at], 12)
            d.text(left + 46 * at + 17, 206, f"key {at}", 11)
        d.path([(left - 8, 190), (left + 46 * len(numbers), 190)], arrow=False)

    bars(30, [2, 1, 0], "k", ["2", "1", "0"], 2)
    d.text(90, 34, "scores s", weight="bold")
    for left, factor, name in ((206, 0.25, "softmax(s / 4)"), (352, 1, "softmax(s)"), (498, 4, "softmax(4 s)")):
        powers = [math.exp(factor * x) for x in (2, 1, 0)]
        weights = [x / sum(powers) for x in powers]
        bars(left, weights, "w", [f"{x:.2f}" for x in weights], 1)
        d.text(left + 60, 34, name, weight="bold")
    d.text(320, 236, "temperature falls, the largest weight grows; each row of weights sums to 1", 13)
    return d


def masking():
    d = Diagram(
        640,
        260,
        "Padding and causal masks",
        "A batch of lengths 2, 4, 3 in rows of 4; the visible pairs of the row of length 3: the first three "
        "columns under "
        "padding, a triangle under causal, a triangle without the last column under both.",
    )
    lengths = [2, 4, 3]
    d.matrix(
        60, 70, 3, 4, "k", "tokens", "B", "S", 30,
        [[0.35 if j < n else None for j in range(4)] for n in lengths],
        [["a", "b", "", ""], list("cdef"), ["g", "h", "i", ""]],
    )  # fmt: skip
    rules = {
        "padding": lambda i, j: j < 3,
        "causal": lambda i, j: j <= i,
        "both": lambda i, j: j <= i and j < 3,
    }
    for at, (name, rule) in enumerate(rules.items()):
        shades = [[0.75 if rule(i, j) else None for j in range(4)] for i in range(4)]
        d.matrix(240 + 140 * at, 70, 4, 4, "w", name, "T", "S", 24, shades)
    d.text(320, 26, "the third row of the batch, g h i: which keys (columns) each query (row) sees", 13)
    d.text(320, 236, "filled: visible;  crossed: masked, weight 0", 13)
    return d


def scores():
    d = Diagram(
        640,
        280,
        "Three scores of a query and a key",
        "Dot: q times k, of equal width D. Bilinear: M brings q to the width of k. Additive: W_q and W_k bring "
        "both to F "
        "features, which are added, passed through tanh, and summed with weights w_v.",
    )
    columns = (("dot", 100), ("bilinear", 300), ("additive", 510))
    for name, x in columns:
        d.text(x, 30, name, 15, weight="bold")
    d.box(70, 60, 60, 26, "q  (D)", "q")
    d.box(70, 110, 60, 26, "k  (D)", "k")
    d.arrow(100, 136, 100, 200)
    d.box(60, 200, 80, 28, "q . k", "w")
    d.box(240, 60, 60, 26, "q  (Dq)", "q", 13)
    d.box(310, 60, 80, 26, "k  (Dk)", "k", 13)
    d.box(225, 124, 90, 28, "M  (Dq,Dk)", "plain", 13)
    d.arrow(270, 86, 270, 124)
    d.arrow(275, 152, 292, 200)
    d.arrow(350, 86, 318, 200)
    d.box(255, 200, 100, 28, "q M . k", "w")
    d.box(430, 60, 70, 26, "q  (Dq)", "q", 13)
    d.box(530, 60, 70, 26, "k  (Dk)", "k", 13)
    d.box(420, 104, 90, 28, "W_q  (F,Dq)", "plain", 13)
    d.box(520, 104, 90, 28, "W_k  (F,Dk)", "plain", 13)
    d.arrow(465, 86, 465, 104)
    d.arrow(565, 86, 565, 104)
    d.arrow(465, 132, 500, 156)
    d.arrow(565, 132, 530, 156)
    d.box(470, 156, 90, 28, "tanh( + )  (F)", "plain", 13)
    d.arrow(515, 184, 515, 200)
    d.box(465, 200, 100, 28, "w_v . features", "w", 13)
    d.text(320, 262, "D, Dq, Dk: widths of queries and keys;  F: hidden features;  each ends in one number", 13)
    return d


def layer():
    d = Diagram(
        680,
        300,
        "One attention layer",
        "X (T, C) is multiplied by W_q, W_k and W_v to Q (T, D), K (S, D) and V (S, E). Q K transposed, scaled "
        "and passed "
        "through a softmax, gives weights (T, S); they multiply V to (T, E), and W_o returns it to (T, C).",
    )
    d.matrix(40, 100, 5, 6, "plain", "X", "T", "C", 16)
    for y, name, kind, columns, axis in ((30, "Q", "q", 2, "D"), (120, "K", "k", 2, "D"), (210, "V", "v", 3, "E")):
        d.arrow(140, 140, 190, y + 36)
        d.text(*{30: (150, 92), 120: (176, 138), 210: (150, 214)}[y], "W_" + name.lower(), 13)
        d.matrix(212, y + 6, 5, columns, kind, "", "T" if name == "Q" else "S", axis, 13)
        d.text(212 + columns * 13 + 12, y + 44, name, 14, "start", weight="bold")
    d.arrow(280, 76, 326, 100)
    d.arrow(280, 152, 326, 122)
    shades = [[0.8, 0.1, 0.0, 0.1, 0.0], [0.2, 0.6, 0.1, 0.0, 0.1], [0.0, 0.3, 0.6, 0.1, 0.0],
              [0.1, 0.1, 0.2, 0.5, 0.1], [0.0, 0.0, 0.1, 0.2, 0.7]]  # fmt: skip
    d.matrix(348, 76, 5, 5, "w", "weights", "T", "S", 16, shades)
    d.text(388, 44, "softmax(Q K' / sqrt(D))", 13)
    d.arrow(436, 128, 484, 150)
    d.path([(284, 246), (450, 246), (484, 168)])
    d.matrix(500, 124, 5, 3, "v", "", "T", "E", 14)
    d.arrow(548, 158, 578, 158)
    d.text(562, 148, "W_o", 13)
    d.matrix(590, 118, 5, 5, "plain", "Y", "", "C", 16)
    return d


def heads():
    d = Diagram(
        680,
        250,
        "Multi-head, grouped-query and multi-query attention",
        "Eight query heads. With G = 8 each reads its own key/value head; with G = 2 four share one; with G = 1 "
        "all share one.",
    )
    for left, groups, name in (
        (20, 8, "multi-head, G = 8"),
        (245, 2, "grouped-query, G = 2"),
        (470, 1, "multi-query, G = 1"),
    ):
        d.text(left + 96, 30, name, 14, weight="bold")
        for h in range(8):
            d.box(left + 24 * h, 160, 20, 34, str(h), "q", 12)
            g = h * groups // 8
            width = 192 / groups
            x = left + g * width + width / 2 - 2
            d.path([(left + 24 * h + 10, 160), (x, 104)], arrow=False)
        for g in range(groups):
            width = 192 / groups
            d.box(left + g * width + width / 2 - 12, 70, 20, 34, str(g), "k", 12)
        d.text(left + 96, 62, "key/value heads (G)", 12, color="#6b6b6b")
        d.text(left + 96, 212, "query heads (H)", 12, color="#6b6b6b")
        d.text(left + 96, 236, f"cache: {2 * groups} D numbers a token", 13)
    return d


def comparison():
    d = Diagram(
        680,
        330,
        "Paths of information",
        "Recurrence: position 0 reaches 6 through six steps. Convolution of width 5: through three layers. "
        "Attention: in one.",
    )

    def row(x, y, kind, count=7):
        for t in range(count):
            d.box(x + 27 * t, y, 20, 22, str(t), kind, 11)

    for x, name in ((20, "recurrence"), (245, "convolution, width 5"), (470, "self-attention")):
        d.text(x + 92, 30, name, 14, weight="bold")
    row(20, 270, "plain")
    row(20, 170, "q")
    for t in range(7):
        d.arrow(30 + 27 * t, 270, 30 + 27 * t, 193)
        if t < 6:
            d.arrow(40 + 27 * t, 181, 46 + 27 * t, 181)
    d.text(112, 318, "path: T steps", 13)
    for at, y in enumerate((270, 205, 140, 75)):
        row(245, y, "plain" if at == 0 else "k")
    for layer in range(3):
        d.arrow(255 + 27 * 2 * layer, 270 - 65 * layer, 255 + 27 * 2 * (layer + 1), 228 - 65 * layer)
    d.text(337, 318, "path: 2 T / (n - 1) layers", 13)
    row(470, 270, "plain")
    row(470, 140, "w")
    for t in range(7):
        d.path([(480 + 27 * t, 270), (642, 163)], arrow=t == 0)
    d.text(562, 318, "path: 1", 13)
    return d


def tiles():
    d = Diagram(
        640,
        270,
        "Tiles and what is carried between them",
        "A block of 64 queries meets tiles of 128 keys from left to right; m, l and o are updated after each; "
        "masked tiles are "
        "skipped.",
    )
    shades = [[0.7, None, None, None], [0.7, 0.7, None, None], [0.7, 0.7, 0.7, None], [0.7, 0.7, 0.7, 0.7]]
    d.matrix(70, 60, 4, 4, "w", "", "T", "S", 40, shades)
    d.text(150, 246, "causal: 10 of 16 tiles", 13)
    d.text(150, 34, "never stored as a whole", 13)
    d.text(450, 34, "one block of queries", 14, weight="bold")
    for at in range(3):
        x = 300 + 110 * at
        d.box(x, 60, 90, 40, f"keys, values\ntile {at}", "k", 12)
        d.arrow(x + 45, 100, x + 45, 128)
        d.box(x, 128, 90, 34, "s = q k'", "w", 13)
        d.arrow(x + 45, 162, x + 45, 186)
        d.box(x, 186, 90, 30, "m, l, o", "v", 13)
        if at < 2:
            d.arrow(x + 90, 201, x + 110, 201)
    d.text(455, 246, "carried: m (T), l (T), o (T,E); at the end out = o / l", 13)
    return d


def decoding():
    d = Diagram(
        660,
        270,
        "Prefill and decoding steps",
        "Prefill computes a triangle of the first four positions and fills the cache with four keys and values. "
        "Each step adds "
        "one row of the triangle and one column of the cache.",
    )
    shades = [[0.7 if j <= i else None for j in range(7)] for i in range(7)]
    for i in range(4, 7):
        shades[i] = [0.35 if j <= i else None for j in range(7)]
    d.matrix(80, 60, 7, 7, "w", "", "T", "S", 24, shades)
    d.text(262, 110, "prefill: 4 rows at once,", 13, "start")
    d.text(262, 128, "limited by arithmetic", 13, "start")
    d.text(262, 184, "steps: a row each,", 13, "start")
    d.text(262, 202, "limited by memory", 13, "start")
    for row, (name, kind) in enumerate((("keys", "k"), ("values", "v"))):
        grid = [[0.7] * 4 + [0.25] * 3]
        d.matrix(450, 90 + 80 * row, 1, 7, kind, "", "", "", 24, grid)
        d.text(534, 82 + 80 * row, f"{name} of the cache  (B,G,S,{'D' if row == 0 else 'E'})", 13)
    d.text(534, 226, "append one column in each step", 13)
    return d


def numbers():
    d = Diagram(
        660,
        260,
        "Number formats",
        "f32: 1 sign, 8 exponent, 23 mantissa bits. f16: 1, 5, 10. bf16: 1, 8, 7. q4_0: a 16-bit scale and 32 "
        "integers of 4 bits.",
    )
    for at, (name, bits) in enumerate((("f32", (1, 8, 23)), ("f16", (1, 5, 10)), ("bf16", (1, 8, 7)))):
        x, y = 80, 50 + 46 * at
        d.text(64, y + 20, name, 14, "end", weight="bold")
        for count, kind in zip(bits, ("plain", "k", "q")):
            for _ in range(count):
                d.box(x, y, 14, 28, "", kind)
                x += 16
        d.text(x + 8, y + 19, f"{sum(bits)} bits", 13, "start")
    d.text(88, 38, "sign", 12)
    d.text(158, 38, "exponent: range", 12, color="#b26b00")
    d.text(400, 38, "mantissa: precision", 12, color="#0072b2")
    d.text(64, 212, "q4_0", 14, "end", weight="bold")
    d.box(80, 192, 80, 30, "scale, f16", "w", 12)
    for n in range(16):
        d.box(168 + 22 * n, 192, 20, 30, "4b", "v", 11)
    d.text(530, 212, "... 32 integers", 13, "start")
    d.text(330, 248, "one scale for a block: 4.5 bits a number", 13)
    return d


DIAGRAMS = {
    "kernel_regression": kernel_regression,
    "softmax": softmax,
    "masking": masking,
    "scores": scores,
    "layer": layer,
    "heads": heads,
    "comparison": comparison,
    "tiles": tiles,
    "decoding": decoding,
    "numbers": numbers,
}
