"""What does not fit is refused, with the name of what it is and, where shapes matter, of their axes; what only
looks odd is taken."""

import numpy as np
import pytest

import qkv

try:
    import torch

    import qkv.torch
except ImportError:
    torch = None

B, H, G, T, S, D, E = 2, 4, 2, 5, 7, 8, 6


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


q, k, v, upstream = (
    numbers(B, H, T, D, seed=1),
    numbers(B, G, S, D, seed=2),
    numbers(B, G, S, E, seed=3),
    numbers(B, H, T, E, seed=4),
)

# Arguments that one of q, k, v is replaced with: attention and its backward, and the entry points for PyTorch, must
# refuse them alike.
inputs = {
    "v shorter than k": (
        dict(v=v[:, :, :-1]),
        ValueError,
        "attention: .*same number of keys S.*(S 7.*S 6|k is .2, 2, 7, 8., v is .2, 2, 6, 6.)",
    ),
    "v longer than k": (dict(k=k[:, :, :-1]), ValueError, "attention: .*same number of keys S"),
    "batch sizes": (dict(q=q[:1]), ValueError, "attention: q, k and v must have the same batch size B; q is .B 1"),
    "widths differ": (dict(q=q[..., :7]), ValueError, "attention: .*same width D.*D 7"),
    "heads of k and v differ": (dict(v=v[:, :1]), ValueError, "attention: .*same number of heads G"),
    "heads that do not divide": (
        dict(q=q[:, :3]),
        ValueError,
        "attention: G key/value heads must divide H query heads.*H 3",
    ),
    "no heads of keys": (dict(k=k[:, :0], v=v[:, :0]), ValueError, "attention: G .* must divide H.*G 0"),
    "three axes": (dict(q=q[0]), ValueError, "attention: .*four axes.*B,H,T,D"),
    "v of three axes": (dict(v=v[0]), ValueError, "attention: .*four axes.*B,G,S,E"),
    "two axes": (dict(k=k[0, 0]), ValueError, "attention: .*four axes.*B,G,S,D"),
    "five axes": (dict(k=k[None]), ValueError, "attention: .*four axes"),
    "no axis": (dict(q=np.float32(1).reshape(())), ValueError, "attention: .*four axes"),
    "columns": (dict(q=np.asfortranarray(q)), ValueError, "attention: the last axis must be contiguous"),
    "every second number": (
        dict(v=np.repeat(v, 2, 3)[..., ::2]),
        ValueError,
        "attention: the last axis must be contiguous",
    ),
    "integers": (
        dict(v=v.astype(np.int16)),
        TypeError,
        "v: expected float32, bfloat16, float16 or float64, got int",
    ),
    "booleans": (
        dict(q=q > 0),
        TypeError,
        "q: expected float32, bfloat16, float16 or float64, got (bool|integers)",
    ),
    "complex numbers": (
        dict(q=q.astype(np.complex64)),
        TypeError,
        "q: expected float32, bfloat16, float16 or float64, got complex64",
    ),
}
only_numpy = {
    "backwards": (dict(q=q[:, :, ::-1]), TypeError, "q: axis 2 has a negative stride"),
    "numbers backwards": (dict(q=q[..., ::-1]), TypeError, "q: axis 3 has a negative stride"),
    "of another machine": (dict(q=q.astype(">f4")), TypeError, "q: .*native byte order.*>f4"),
    "objects": (dict(k=k.astype(object)), TypeError, "k: expected numbers.*object"),
    "words": (dict(k=k.astype("S4")), TypeError, "k: expected numbers.*S4"),
    "records": (dict(k=np.zeros(k.shape, [("a", np.float32)])), TypeError, "k: expected numbers"),
    "steps of no whole number": (
        dict(q=np.lib.stride_tricks.as_strided(q, (B, H, T, D), (0, 0, 34, 4))),
        TypeError,
        "q: .*multiples of their size",
    ),
    "a list": (dict(q=q.tolist()), TypeError, "q: expected an array"),
    "None": (dict(v=None), TypeError, "v: expected an array.*None"),
    "a number": (dict(k=1.0), TypeError, "k: expected an array.*float"),
    "a masked array": (
        dict(q=np.ma.masked_array(q, q > 0)),
        TypeError,
        "q: .*MaskedArray, whose mask would be lost",
    ),
    "nine axes": (dict(v=v.reshape((1,) * 5 + v.shape)), TypeError, "v: 9 axes are too many"),
}


def paths(arguments):
    """The same call on every path, to be asked one by one."""
    q_, k_, v_ = (arguments.get(name, x) for name, x in (("q", q), ("k", k), ("v", v)))
    yield lambda: qkv.attention(q_, k_, v_)
    yield lambda: qkv.attention(q_, k_, v_, mask=qkv.causal(), scale=0.5)
    yield lambda: qkv.attention(q_, k_, v_, return_weights=True)
    yield lambda: qkv.attention_backward(upstream, q_, k_, v_)


def paths_of_torch(arguments):
    q_, k_, v_ = (
        torch.from_numpy(np.asarray(arguments.get(name, x))) for name, x in (("q", q), ("k", k), ("v", v))
    )
    yield from paths(dict(q=q_, k=k_, v=v_))
    yield lambda: qkv.torch.attention(q_, k_, v_)
    if q_.is_floating_point():
        yield lambda: qkv.torch.attention(q_.requires_grad_(), k_, v_)


@pytest.mark.parametrize("name", [*inputs, *only_numpy])
def test_inputs_that_do_not_fit(name):
    arguments, kind, message = {**inputs, **only_numpy}[name]
    for call in paths(arguments):
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.skipif(torch is None, reason="tensors")
@pytest.mark.parametrize("name", inputs)
def test_tensors_that_do_not_fit(name):
    arguments, kind, message = inputs[name]
    for call in paths_of_torch(arguments):
        with pytest.raises(kind, match=message):
            call()


nan, inf = float("nan"), float("inf")
calls = {
    # arrays beside them
    "a gradient of another shape": (
        lambda: qkv.attention_backward(upstream[..., :-1], q, k, v),
        ValueError,
        "attention_backward: the gradient .*E 5.*E 6",
    ),
    "a gradient of three axes": (
        lambda: qkv.attention_backward(upstream[0], q, k, v),
        ValueError,
        "attention_backward: the gradient",
    ),
    "a gradient of integers": (
        lambda: qkv.attention_backward(upstream.astype(int), q, k, v),
        TypeError,
        "the gradient of the output: .*int64",
    ),
    "an explanation of other lengths": (lambda: qkv.explain(q, k, v[:, :, :-1]), ValueError, "explain: .*B,G,S,E"),
    "slopes of other heads": (
        lambda: qkv.attention(q, k, v, modify=qkv.alibi(numbers(H + 1))),
        ValueError,
        "alibi: 5 slopes for H 4",
    ),
    "slopes of integers": (lambda: qkv.alibi(np.ones(H, int)), TypeError, "alibi: slopes: .*int64"),
    "slopes in a list": (lambda: qkv.alibi([1.0] * H), TypeError, "alibi: slopes: expected an array"),
    "a bias of five axes": (
        lambda: qkv.attention(q, k, v, modify=qkv.bias(numbers(1, 1, 1, T, S))),
        ValueError,
        "bias: .*B, H, T, S",
    ),
    "a bias of other heads": (
        lambda: qkv.attention(q, k, v, modify=qkv.bias(numbers(1, 3, T, S))),
        ValueError,
        "bias: .*H 3.*H 4",
    ),
    "a sink of other heads": (
        lambda: qkv.attention(q, k, v, normalize=qkv.softmax_with_sink(numbers(3))),
        ValueError,
        "softmax_with_sink: .*H 3.*H 4",
    ),
    "buckets of one axis": (lambda: qkv.relative_bias(numbers(32)), ValueError, "relative_bias: .*buckets, H"),
    "a table of positions that is not square": (
        lambda: qkv.absolute_bias(numbers(H, 4, 5)),
        ValueError,
        "absolute_bias: .*H, N, N",
    ),
    "a table of positions of other heads": (
        lambda: qkv.attention(q, k, v, modify=qkv.absolute_bias(numbers(3, 4, 4))),
        ValueError,
        "absolute_bias: .*H 3.*H 4",
    ),
    "slopes of Falcon for other heads": (
        lambda: qkv.attention(q, k, v, modify=qkv.falcon_alibi([1.0] * 3, 0.5)),
        ValueError,
        "falcon_alibi: 3 slopes for H 4",
    ),
    "a block of no positions": (
        lambda: qkv.first_block_bias(0, 3),
        ValueError,
        "first_block_bias: the block must be positive",
    ),
    "fewer than no first keys": (lambda: qkv.first_keys(-1), ValueError, "first_keys: .*not be negative, got -1"),
    "too few buckets": (
        lambda: qkv.relative_bias(numbers(0, H)),
        ValueError,
        "relative_bucket: num_buckets must be at least 4, got 0",
    ),
    "buckets that reach too far": (
        lambda: qkv.relative_bias(numbers(32, H), max_distance=0),
        ValueError,
        "relative_bucket: max_distance",
    ),
    "a matrix of another width": (
        lambda: qkv.attention(q, k, v, score=qkv.bilinear(numbers(7, D))),
        ValueError,
        "bilinear: .*Dq 8",
    ),
    "features that differ": (
        lambda: qkv.attention(q, k, v, score=qkv.additive(numbers(3, D), numbers(4, D), numbers(4))),
        ValueError,
        "additive: .*F must agree",
    ),
    "concat of another width": (
        lambda: qkv.attention(q, k, v, score=qkv.concat(numbers(4, 15), numbers(4))),
        ValueError,
        "concat: .*Dq \\+ Dk",
    ),
    "rows of another width": (
        lambda: qkv.attention(q, k, v, score=qkv.location(numbers(S, 7))),
        ValueError,
        "location: .*Dq 8",
    ),
    "places of other lengths": (
        lambda: qkv.attention(q, k, v, reweigh=qkv.gaussian_window(numbers(B, H, 6), 1.0)),
        ValueError,
        "gaussian_window: .*T 6.*T 5",
    ),
    # masks
    "as many lengths as rows": (
        lambda: qkv.attention(q, k, v, mask=qkv.padding([1, 2, 3])),
        ValueError,
        "padding: 3 lengths for B 2",
    ),
    "a length beyond the end": (
        lambda: qkv.attention(q, k, v, mask=qkv.padding([3, S + 1])),
        ValueError,
        "padding: lengths must be 0 to S 7, got 8",
    ),
    "a negative length": (
        lambda: qkv.attention(q, k, v, mask=qkv.padding([3, -1])),
        ValueError,
        "padding: lengths must be 0 to S 7, got -1",
    ),
    "a length of 41 bits": (
        lambda: qkv.padding([2**40, 1]),
        ValueError,
        "padding: lengths: 1099511627776 is out of range",
    ),
    "lengths with a point": (lambda: qkv.padding([1.5, 2]), TypeError, "padding: lengths: expected integers"),
    "lengths in words": (lambda: qkv.padding(["a", "b"]), TypeError, "padding: lengths: expected numbers"),
    "one length": (lambda: qkv.padding(3), TypeError, "padding: lengths: expected an array"),
    "no lengths": (lambda: qkv.padding([]), TypeError, "padding: lengths"),
    "documents of other lengths": (
        lambda: qkv.attention(q, k, v, mask=qkv.documents([[1] * T] * B)),
        ValueError,
        "documents: ",
    ),
    "a mask of NaN": (
        lambda: qkv.dense(np.full((1, 1, T, S), nan, np.float32)),
        TypeError,
        "dense: table: expected integers or bool",
    ),
    "a mask of five axes": (
        lambda: qkv.attention(q, k, v, mask=qkv.dense(np.ones((1, 1, 1, T, S), bool))),
        ValueError,
        "dense: .*B, H, T, S",
    ),
    "a mask of other heads": (
        lambda: qkv.attention(q, k, v, mask=qkv.dense(np.ones((1, 3, T, S), bool))),
        ValueError,
        "dense: .*H 3.*H 4",
    ),
    "blocks of nothing": (lambda: qkv.blocks(np.ones((1, 1, 1, 1), bool), 0), ValueError, "blocks: "),
    "other blocks": (
        lambda: qkv.attention(q, k, v, mask=qkv.blocks(np.ones((1, 1, 9, 9), bool), 4)),
        ValueError,
        "blocks: ",
    ),
    "a negative window": (lambda: qkv.window(-2), ValueError, "window: "),
    "a window of 63 bits": (lambda: qkv.window(2**62), ValueError, "window: "),
    "a window of 65 bits": (lambda: qkv.window(2**64), TypeError, "window"),
    "a window with a point": (lambda: qkv.window(1.5), TypeError, "window"),
    "causal in words": (lambda: qkv.causal("yes"), TypeError, "causal"),
    "a negative radius": (lambda: qkv.longformer(-1), ValueError, "longformer: .*-1"),
    "a dilation of nothing": (lambda: qkv.dilated(1, 0), ValueError, "dilated: .*1, 0"),
    "a dilation that overflows": (lambda: qkv.dilated(2**62, 2**62), ValueError, "dilated: "),
    "a negative local window": (lambda: qkv.local_m(-1), ValueError, ": "),
    "a stride of nothing": (lambda: qkv.strided(0), ValueError, "strided: "),
    "a position before the first": (
        lambda: qkv.global_positions([-1]),
        ValueError,
        "global_positions: positions must not be negative, got -1",
    ),
    "global words": (lambda: qkv.global_positions(["a"]), TypeError, "global_positions"),
    "birds without blocks": (lambda: qkv.bigbird(block=0), ValueError, "bigbird: "),
    "birds of an even window": (
        lambda: qkv.bigbird(window_blocks=2),
        ValueError,
        "bigbird: window_blocks must be odd and positive, got 2",
    ),
    "birds of other heads": (lambda: qkv.attention(q, k, v, mask=qkv.bigbird(heads=3)), ValueError, "3"),
    "a function that answers with numbers": (
        lambda: qkv.attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: i + j)),
        TypeError,
        "mask_mod: .*booleans",
    ),
    "a function that answers with nothing": (
        lambda: qkv.attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: None)),
        TypeError,
        "mask_mod: the function returned None; it must return booleans",
    ),
    "a function of another shape": (
        lambda: qkv.attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: np.ones((3, 3), bool))),
        ValueError,
        "mask_mod: .*broadcasts to .b,h,t,s. = .2, 4, 5, 7.",
    ),
    "a function of five axes": (
        lambda: qkv.attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: np.ones((1,) * 5, bool))),
        ValueError,
        "mask_mod: .*broadcasts",
    ),
    "a function with and": (
        lambda: qkv.attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: i > 3 and j > 3)),
        ValueError,
        "mask: .*& | ~",
    ),
    "no function": (lambda: qkv.mask_mod(np.ones((T, S), bool)), TypeError, "mask_mod: expected a function"),
    "a table as a mask": (
        lambda: qkv.attention(q, k, v, mask=np.ones((T, S), bool)),
        TypeError,
        "mask: .*dense.table.",
    ),
    "a mask and a number": (lambda: qkv.causal() & 3, TypeError, "mask"),
    "a mask and, in words, another": (lambda: qkv.causal() and qkv.window(3), TypeError, "& | ~"),
    # numbers
    "a scale of NaN": (
        lambda: qkv.attention(q, k, v, scale=nan),
        ValueError,
        "scale must be a finite number, got nan",
    ),
    "a scale too large": (lambda: qkv.attention(q, k, v, scale=1e300), ValueError, "scale must be a finite number"),
    "a scale in words": (lambda: qkv.attention(q, k, v, scale="1"), TypeError, "scale: expected a number, got str"),
    "two scales": (lambda: qkv.attention(q, k, v, score=qkv.cosine(2), scale=3), ValueError, "scale"),
    "a cosine of infinity": (lambda: qkv.cosine(inf), ValueError, "cosine: "),
    "a cap of nothing": (lambda: qkv.softcap(0), ValueError, "softcap: "),
    "a cap of NaN": (lambda: qkv.softcap(nan), ValueError, "softcap: "),
    "no width": (lambda: qkv.gaussian(0), ValueError, "gaussian: "),
    "a learned width of zero": (
        lambda: qkv.attention(q, k, v, score=qkv.gaussian(np.zeros(1, np.float32))),
        ValueError,
        "gaussian: ",
    ),
    "two widths": (
        lambda: qkv.attention(q, k, v, score=qkv.gaussian(np.ones(2, np.float32))),
        ValueError,
        "gaussian: ",
    ),
    "a window of no width": (
        lambda: qkv.attention(q, k, v, reweigh=qkv.gaussian_window(numbers(B, H, T), 0.0)),
        ValueError,
        "gaussian_window: sigma",
    ),
    "dropout of everything": (lambda: qkv.attention(q, k, v, dropout=1.0), ValueError, "dropout: the rate"),
    "dropout of less than nothing": (lambda: qkv.attention(q, k, v, dropout=-0.1), ValueError, "dropout: the rate"),
    "dropout of NaN": (lambda: qkv.attention(q, k, v, dropout=nan), ValueError, "dropout: the rate"),
    "dropout in words": (lambda: qkv.attention(q, k, v, dropout="0.1"), TypeError, "dropout: expected a number"),
    "a negative seed": (lambda: qkv.attention(q, k, v, dropout=0.1, seed=-1), ValueError, "seed: "),
    "a seed of 65 bits": (lambda: qkv.attention(q, k, v, dropout=0.1, seed=1 << 64), ValueError, "seed: "),
    "a seed in words": (lambda: qkv.attention(q, k, v, dropout=0.1, seed="x"), TypeError, "seed: "),
    "no threads": (lambda: qkv.set_threads(0), ValueError, "set_threads: "),
    # parts
    "another kind of part": (lambda: qkv.attention(q, k, v, score=qkv.softcap(2)), TypeError, "score: "),
    "a part in words": (lambda: qkv.attention(q, k, v, modify="softcap"), TypeError, "modify: "),
    "a number as parts": (lambda: qkv.attention(q, k, v, modify=3), TypeError, "modify: "),
    "parts of another kind": (lambda: qkv.attention(q, k, v, reweigh=[qkv.softcap(2)]), TypeError, "reweigh: "),
    "another word": (lambda: qkv.attention(q, k, v, masks=None), TypeError, "masks.*; did you mean 'mask'"),
    "a score_mod that returns nothing": (
        lambda: qkv.attention(q, k, v, modify=qkv.score_mod(lambda s, b, h, i, j: None)),
        TypeError,
        "score_mod.<lambda>.: the function returned None; .*`return`",
    ),
    "a score_function that returns nothing": (
        lambda: qkv.attention(q, k, v, score=qkv.score_function(lambda q, k, b, h, i, j: None)),
        TypeError,
        "score_function.<lambda>.: the function returned None",
    ),
    "a backward that returns nothing": (
        lambda: qkv.attention_backward(upstream, q, k, v, modify=qkv.score_mod(lambda s, *_: s, lambda *_: None)),
        TypeError,
        "backward: the function returned None",
    ),
    # what the extension module cannot take: a line with the name of the argument
    "a window of 70 bits": (
        lambda: qkv.window(2**70),
        TypeError,
        "^window: left must be an integer of 64 bits, got 1180591620717411303424$",
    ),
    "half a step": (lambda: qkv.every(1.5), TypeError, "^every: step must be an integer of 64 bits, got 1.5$"),
    "a cap in words": (lambda: qkv.softcap("3"), TypeError, "^softcap: cap must be a number, got '3'$"),
    "birds of a negative seed": (
        lambda: qkv.bigbird(seed=-1),
        TypeError,
        r"^bigbird: seed must be an integer from 0 to 2\*\*64 - 1, got -1$",
    ),
    "threads in words": (
        lambda: qkv.set_threads("2"),
        TypeError,
        "^set_threads: count must be an integer of 64 bits, got '2'$",
    ),
    "causality in the words of PyTorch": (
        lambda: qkv.attention(q, k, v, is_causal=True),
        TypeError,
        r"^attention\(\) got an unexpected keyword argument 'is_causal'; qkv calls it mask=qkv.causal\(\)$",
    ),
    "a name of the Hub for a folder": (
        lambda: qkv.Generator("gpt2"),
        FileNotFoundError,
        "hf download gpt2 --local-dir gpt2",
    ),
    "a word of another library": (
        lambda: qkv.softcap(1.0, floor=2),
        TypeError,
        r"^softcap\(\) got an unexpected keyword argument 'floor'; known are cap$",
    ),
}


@pytest.mark.parametrize("name", calls)
def test_arguments_that_do_not_fit(name):
    call, kind, message = calls[name]
    with pytest.raises(kind, match=message):
        call()


def test_results_larger_than_memory():
    long = np.broadcast_to(np.zeros(8, np.float32), (1, 1, 1 << 40, 8))
    with pytest.raises(MemoryError):
        qkv.attention(long, k[:1, :1], v[:1, :1])
    with pytest.raises((ValueError, MemoryError)):  # T S overflows before it is allotted
        qkv.attention(long, long, long, return_weights=True)


odd = {
    "infinite values": (lambda: qkv.attention(q, k, v * inf), False),
    "queries without a number": (lambda: qkv.attention(q * nan, k, v), False),
    "scores that overflow": (lambda: qkv.attention(q * np.float32(1e30), k * np.float32(1e30), v), False),
    "a bias of NaN": (
        lambda: qkv.attention(q, k, v, modify=qkv.bias(np.full((1, 1, T, S), nan, np.float32))),
        False,
    ),
    "a bias that masks all": (
        lambda: qkv.attention(q, k, v, modify=qkv.bias(np.full((1, 1, T, S), -inf, np.float32))),
        True,
    ),
    "scores that are large": (lambda: qkv.attention(q * np.float32(1e15), k * np.float32(1e15), v), True),
    "an offset of 62 bits": (lambda: qkv.attention(q, k, v, mask=qkv.causal(2**62)), True),
    "an offset of minus 62 bits": (lambda: qkv.attention(q, k, v, mask=qkv.causal(-(2**62))), True),
    "a window without ends": (lambda: qkv.attention(q, k, v, mask=qkv.window(-1, -1)), True),
    "blocks of 62 bits": (lambda: qkv.attention(q, k, v, mask=qkv.bigbird(block=2**62)), True),
    "positions beyond the last key": (
        lambda: qkv.attention(q, k, v, mask=qkv.global_positions([2**62, 100])),
        True,
    ),
    "an array not at its place": (
        lambda: qkv.attention(
            np.frombuffer(b"\0" + q.tobytes(), np.uint8)[1:].view(np.float32).reshape(q.shape), k, v
        ),
        True,
    ),
    "a class of arrays": (lambda: qkv.attention(q.view(type("Mine", (np.ndarray,), {})), k, v), True),
    "no batch": (lambda: qkv.attention(q[:0], k[:0], v[:0]), True),
    "no queries": (lambda: qkv.attention(q[:, :, :0], k, v), True),
    "no keys": (lambda: qkv.attention(q, k[:, :, :0], v[:, :, :0]), True),
    "no width": (lambda: qkv.attention(q[..., :0], k[..., :0], v), True),
    "no width of values": (lambda: qkv.attention(q, k, v[..., :0]), True),
}


def test_an_array_that_is_not_aligned_is_copied():
    def moved(x):
        return np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)

    assert not moved(q).flags.aligned
    assert np.array_equal(qkv.attention(moved(q), moved(k), moved(v)), qkv.attention(q, k, v))
    lengths = np.array([3, 5], np.int64)
    masks = [qkv.padding(x) for x in (lengths, moved(lengths), moved(lengths.astype(np.int32)))]
    outs = [qkv.attention(q, k, v, mask=mask) for mask in masks]
    assert np.array_equal(outs[0], outs[1]) and np.array_equal(outs[0], outs[2])


@pytest.mark.parametrize("name", odd)
def test_what_is_odd_is_taken(name):
    call, finite = odd[name]
    out = call()
    assert out.shape[1] == H and np.isfinite(out).all() == finite


# Tensors of PyTorch


def tensors():
    return [torch.from_numpy(x.copy()) for x in (q, k, v)]


def with_torch(test):
    return pytest.mark.skipif(torch is None, reason="tensors")(test)


kinds = {
    "meta": (lambda x: x.to("meta"), "q: the tensor is on meta"),
    "sparse": (lambda x: x.to_sparse(), "q: the tensor is torch.sparse_coo"),
    "of another library": (lambda x: x.to_mkldnn(), "q: the tensor is torch._mkldnn"),
    "quantized": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), "q: .*quint8"),
    "nested": (lambda x: torch.nested.nested_tensor([torch.ones(2, 3)]), "q: .*nested|q: expected an array"),
    "of eight bits": (lambda x: x.to(torch.float8_e4m3fn), "q: .*float8_e4m3fn"),
    "of long integers": (lambda x: x.long(), "q: expected float32, bfloat16, float16 or float64, got int"),
}


@with_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", kinds)
def test_tensors_of_other_kinds(name):
    change, message = kinds[name]
    q, k, v = tensors()
    for call in (
        lambda: qkv.attention(change(q), k, v),
        lambda: qkv.attention_backward(torch.from_numpy(upstream), change(q), k, v),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()
    if name not in ("meta", "nested"):  # which have shapes to answer with, and which PyTorch itself refuses
        with pytest.raises(TypeError, match="q: "):
            qkv.torch.attention(change(q), k, v)


@with_torch
@pytest.mark.skipif(torch is None or not torch.cuda.is_available(), reason="needs a graphics processor")
def test_tensors_on_a_graphics_processor():
    q, k, v = tensors()
    for call in (qkv.attention, qkv.torch.attention, qkv.torch.scaled_dot_product_attention):
        with pytest.raises(TypeError, match="cuda"):
            call(q.cuda(), k.cuda(), v.cuda())


@with_torch
def test_types_that_differ():
    q, k, v = tensors()
    for call in (qkv.attention, qkv.torch.attention):
        with pytest.raises(ValueError, match="attention: q, k and v must be f32, or all bf16; q is bf16, k is f32"):
            call(q.bfloat16(), k, v)
    with pytest.raises(ValueError, match="attention_backward: the gradient of the output is bf16"):
        qkv.attention_backward(torch.from_numpy(upstream).bfloat16(), q, k, v)


@with_torch
def test_the_call_without_gradients_says_where_they_are():
    q, k, v = tensors()
    slopes = torch.ones(H, requires_grad=True)
    for call in (
        lambda: qkv.attention(q.clone().requires_grad_(), k, v),
        lambda: qkv.attention(q, k, v, modify=qkv.alibi(slopes)),
        lambda: qkv.attention_backward(torch.from_numpy(upstream), q, k.clone().requires_grad_(), v),
    ):
        with pytest.raises(ValueError, match="qkv.torch.attention"):
            call()
        with torch.no_grad():
            call()


@with_torch
def test_views_that_are_negated_or_conjugated_have_their_numbers_resolved():
    x = torch.randn(B, H, T, D, dtype=torch.complex64).conj()
    _, k, v = tensors()
    assert x.imag.is_neg()
    for call in (qkv.attention, qkv.torch.attention):
        assert torch.equal(call(x.imag, k, v), call(x.imag.resolve_neg(), k, v))
        with pytest.raises(TypeError, match="q: expected float32, bfloat16, float16 or float64, got complex64"):
            call(x, k, v)
    grads = [qkv.attention_backward(torch.from_numpy(upstream), y, k, v)[1] for y in (x.imag, x.imag.resolve_neg())]
    assert torch.equal(*grads)


@with_torch
def test_zeros_that_are_not_written_down():
    _, k, v = tensors()
    zeros = torch._efficientzerotensor(B, H, T, D)
    assert torch.equal(qkv.attention(zeros, k, v), qkv.attention(torch.zeros(B, H, T, D), k, v))
