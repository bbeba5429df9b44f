"""qkv.torch.scaled_dot_product_attention beside PyTorch's own, which computes the wanted values in float64."""

from types import MappingProxyType

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention as theirs

import qkv.torch

ours = qkv.torch.scaled_dot_product_attention


def numbers(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def inputs(q, k, v, dtype=torch.float32):
    return [numbers(*shape, seed=n, dtype=dtype) for n, shape in enumerate((q, k, v), 1)]


def doubled(x):
    return x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def with_gradients(function, arguments, options):
    """The result, and the gradients of whatever is made of numbers, a mask as well."""
    options = dict(options)
    leaves = [
        x for x in (*arguments, options.get("attn_mask")) if isinstance(x, torch.Tensor) and x.is_floating_point()
    ]
    tracked = {id(x): x.detach().requires_grad_() for x in leaves}
    out = function(
        *(tracked.get(id(x), x) for x in arguments), **{name: tracked.get(id(x), x) for name, x in options.items()}
    )
    upstream = numbers(*out.shape, seed=9).to(out.dtype)
    return [out.detach(), *torch.autograd.grad(out, list(tracked.values()), upstream, materialize_grads=True)]


def errors(got, wanted):
    assert got.shape == wanted.shape
    return ((got.double() - wanted).abs().max().item(), wanted.abs().max().item()) if wanted.numel() else (0, 0)


def formula(q, k, v, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """In the type of q throughout: what the type alone loses. PyTorch's own computes in float32 whatever it is
    given."""
    if enable_gqa:
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(s.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else s + attn_mask.to(s.dtype)
    return s.softmax(-1).masked_fill(s.amax(-1, True) == -torch.inf, 0) @ v


def expect_equal(arguments, options=MappingProxyType({})):
    wanted = with_gradients(
        theirs, [x.double() for x in arguments], {name: doubled(x) for name, x in options.items()}
    )
    got = with_gradients(ours, arguments, options)
    plainly = with_gradients(formula, arguments, options)
    last_bit = (
        2**-9 if arguments[0].dtype == torch.bfloat16 else 4e-6
    )  # half of it, of the largest number; or a few of float32
    for g, w, p in zip(got, wanted, plainly, strict=True):
        assert g.dtype == p.dtype and not g.isnan().any()
        error, size = errors(g, w)
        assert error <= max(2 * errors(p.nan_to_num(), w)[0], last_bit * max(size, 1))


B, H, G, T, S, D, E = 2, 4, 2, 19, 33, 16, 12
j = torch.arange(S)
options = {
    "plain": {},
    "causal": dict(is_causal=True),
    "scale": dict(scale=0.3),
    "a scale of zero": dict(scale=0.0),
    "a negative scale": dict(scale=-1.5),
    "booleans (T, S)": dict(attn_mask=(j % 3 != 0).expand(T, S)),
    "booleans (1, S)": dict(attn_mask=j[None] % 3 != 0),
    "booleans (T, 1)": dict(attn_mask=torch.arange(T)[:, None] % 3 != 0),  # some rows see all, some nothing
    "booleans (B, 1, 1, S)": dict(attn_mask=j.expand(B, 1, 1, S) < torch.tensor([20, 5])[:, None, None, None]),
    "booleans (1, H, T, S)": dict(attn_mask=numbers(1, H, T, S, seed=11) > 0),
    "a row that sees nothing": dict(attn_mask=torch.arange(T)[:, None].expand(T, S) != 4),
    "all keys masked": dict(attn_mask=torch.zeros(T, S, dtype=torch.bool)),
    "floats (T, S)": dict(attn_mask=numbers(T, S, seed=11)),
    "floats (H, 1, S)": dict(attn_mask=numbers(H, 1, S, seed=11)),
    "floats (B, H, T, S)": dict(attn_mask=numbers(B, H, T, S, seed=11)),
    "floats with infinities": dict(
        attn_mask=torch.zeros(T, S).masked_fill(torch.arange(T)[:, None] % 4 == 1, -torch.inf)
    ),
}
shapes = {
    "2 axes": ((T, D), (S, D), (S, E)),
    "3 axes": ((H, T, D), (H, S, D), (H, S, E)),
    "4 axes": ((B, H, T, D), (B, H, S, D), (B, H, S, E)),
    "5 axes": ((3, B, H, T, D), (3, B, H, S, D), (3, B, H, S, E)),
    "grouped": ((B, H, T, D), (B, G, S, D), (B, G, S, E)),
    "one head for all": ((B, H, T, D), (B, 1, S, D), (B, 1, S, E)),
    "a head of keys, many of values": ((B, H, T, D), (B, 1, S, D), (B, H, S, E)),
    "a query for all heads": ((B, 1, T, D), (B, H, S, D), (B, H, S, E)),
    "a query for all of the batch": ((1, H, T, D), (B, H, S, D), (B, H, S, E)),
    "a mixture of axes": ((T, D), (H, S, D), (B, H, S, E)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", options)
@pytest.mark.parametrize("shape", shapes)
def test_values_and_gradients_equal_theirs(shape, name, dtype):
    arguments, chosen = inputs(*shapes[shape], dtype=dtype), dict(options[name])
    mask = chosen.get("attn_mask")
    if mask is not None and mask.dim() > arguments[0].dim():
        chosen["attn_mask"] = mask[(0,) * (mask.dim() - arguments[0].dim())]
    expect_equal(arguments, dict(chosen, enable_gqa=True) if shape == "grouped" else chosen)


@pytest.mark.parametrize("groups", [((4, 2, 2)), ((4, 4, 1)), ((4, 2, 1)), ((4, 1, 2)), ((6, 3, 3)), ((1, 1, 1))])
def test_grouped_heads_of_all_numbers(groups):
    of_q, of_k, of_v = groups
    for lead in ((), (2,), (3, 2)):
        arguments = inputs((*lead, of_q, T, D), (*lead, of_k, S, D), (*lead, of_v, S, E))
        for chosen in ({}, dict(is_causal=True), dict(attn_mask=numbers(of_q, T, S, seed=11))):
            expect_equal(arguments, dict(chosen, enable_gqa=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize(
    "sizes", [(1, 3, 267, 267, 8), (2, 1, 130, 513, 64), (3, 2, 1, 300, 40), (2, 2, 64, 64, 128), (1, 1, 1, 1, 1)]
)
def test_sizes_at_and_around_those_of_tiles(sizes, dtype):
    B, H, T, S, D = sizes
    arguments = inputs((B, H, T, D), (B, H, S, D), (B, H, S, D), dtype)
    expect_equal(arguments)
    expect_equal(arguments, dict(is_causal=True))
    expect_equal(arguments, dict(attn_mask=numbers(T, S, seed=11) > 0))


layouts = {
    "(B, T, H, D) in memory": lambda *shape: numbers(shape[0], shape[2], shape[1], shape[3], seed=1).transpose(
        1, 2
    ),
    "one projection for three": lambda *shape: numbers(shape[0], shape[2], 3, shape[1], shape[3], seed=1)[
        :, :, 1
    ].transpose(1, 2),
    "every second number": lambda *shape: numbers(*shape[:3], 2 * shape[3], seed=1)[..., ::2],
    "columns": lambda *shape: numbers(shape[0], shape[1], shape[3], shape[2], seed=1).transpose(2, 3),
    "one sequence for all": lambda *shape: numbers(1, 1, *shape[2:], seed=1).expand(shape),
    "one number in every row": lambda *shape: numbers(*shape[:3], 1, seed=1).expand(shape),
    "one row for all": lambda *shape: numbers(*shape[:2], 1, shape[3], seed=1).expand(shape),
}


@pytest.mark.parametrize("name", layouts)
def test_any_strides(name):
    q, k, v = layouts[name](B, H, T, D), layouts[name](B, H, S, D), layouts[name](B, H, S, E)
    expect_equal([q, k, v])
    expect_equal([q, numbers(B, H, S, D), numbers(B, H, S, E)], dict(is_causal=True))


@pytest.mark.parametrize(
    "mask",
    [numbers(S, T).t(), numbers(1, S).expand(T, S), numbers(T, 2 * S)[:, ::2], numbers(B, H, S, T).transpose(2, 3)],
    ids=["columns", "expanded", "every second", "columns of heads"],
)
def test_masks_of_any_strides(mask):
    arguments = inputs(*shapes["4 axes"])
    expect_equal(arguments, dict(attn_mask=mask))
    expect_equal(arguments, dict(attn_mask=mask > 0))


@pytest.mark.parametrize("empty", ["B", "H", "T", "S", "D", "E", "TS"])
def test_axes_of_length_zero(empty):
    n = {name: 0 if name in empty else length for name, length in dict(B=B, H=H, T=T, S=S, D=D, E=E).items()}
    arguments = inputs(
        (n["B"], n["H"], n["T"], n["D"]), (n["B"], n["H"], n["S"], n["D"]), (n["B"], n["H"], n["S"], n["E"])
    )
    for chosen in (
        {},
        dict(is_causal=True),
        dict(attn_mask=torch.ones(n["T"], n["S"], dtype=torch.bool)),
        dict(attn_mask=torch.ones(n["T"], n["S"])),
    ):
        got, wanted = (with_gradients(f, arguments, chosen) for f in (ours, theirs))
        for g, w in zip(got, wanted, strict=True):
            assert g.shape == w.shape and not g.isnan().any()
            assert torch.allclose(g, w, atol=1e-5)


def test_scores_that_overflow_softmax_without_a_maximum():
    q, k, v = inputs((1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8))
    assert torch.allclose(ours(1e4 * q, 1e4 * k, v), theirs(1e4 * q, 1e4 * k, v), atol=1e-6)


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_what_is_no_number_stays_in_its_row(bad):
    q, k, v = inputs((1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8))
    q[0, 0, 3, 1] = bad
    got, wanted = ours(q, k, v), theirs(q, k, v)
    assert got[0, 0, 3].isnan().all()  # PyTorch: of NaN it makes zeros
    wanted[0, 0, 3] = torch.nan
    assert torch.allclose(got, wanted, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("variant", [causal_upper_left, causal_lower_right])
def test_the_causal_masks_of_pytorch_are_told_apart(variant):
    arguments = inputs(*shapes["4 axes"])
    wanted = theirs(*(x.double() for x in arguments), attn_mask=variant(T, S))
    error, size = errors(ours(*arguments, attn_mask=variant(T, S)), wanted)
    assert error <= 2e-6 * size


# Dropout. Values that are rows of the unit matrix make the output the weights themselves.


def weights(p, seed):
    torch.manual_seed(seed)
    q, k, _ = inputs((2, 4, 50, D), (2, 4, 60, D), (1,))
    return ours(q, k, torch.eye(60).expand(2, 4, 60, 60), dropout_p=p)


def test_dropout_is_a_function_of_the_seed():
    assert torch.equal(weights(0.3, 1), weights(0.3, 1))
    assert not torch.equal(weights(0.3, 1), weights(0.3, 2))
    torch.manual_seed(1)
    ones = [torch.ones(1, 1, 64, 64)] * 3
    assert not torch.equal(ours(*ones, dropout_p=0.5), ours(*ones, dropout_p=0.5))  # a call moves the generator on
    torch.manual_seed(1)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    ours(*ones)
    assert torch.equal(torch.rand(1), drawn)  # and one without dropout does not


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_as_many_weights_as_it_says_and_makes_them_larger(p):
    dropped, whole = weights(p, 5), weights(0.0, 5)
    kept = dropped != 0
    deviation = (p * (1 - p) / kept.numel()) ** 0.5
    assert abs(kept.double().mean() - (1 - p)) < 5 * deviation
    for axis in range(4):  # nothing is kept by rows, heads or columns
        others = [a for a in range(4) if a != axis]
        assert (kept.double().mean(others) - (1 - p)).abs().max() < 6 * deviation * kept.shape[axis] ** 0.5
    assert torch.allclose(dropped[kept], whole[kept] / (1 - p), rtol=1e-4)


def test_dropout_drops_the_same_in_the_backward():
    q, k, v = inputs((1, 2, 20, D), (1, 2, 30, D), (1, 2, 30, E))
    torch.manual_seed(7)
    kept = ours(q, k, torch.eye(30).expand(1, 2, 30, 30), dropout_p=0.4) != 0
    torch.manual_seed(7)
    got = with_gradients(ours, [q, k, v], dict(dropout_p=0.4))

    def with_what_was_kept(q, k, v):
        return (q @ k.transpose(2, 3) / D**0.5).softmax(-1) * kept / 0.6 @ v

    for g, w in zip(got, with_gradients(with_what_was_kept, [x.double() for x in (q, k, v)], {}), strict=True):
        error, size = errors(g, w)
        assert error <= 1e-4 * size


def test_dropout_of_everything_gives_zeros():
    for x in with_gradients(ours, inputs(*shapes["4 axes"]), dict(dropout_p=1.0)):
        assert not x.any()


# What is refused, and what not.

q, k, v = inputs((B, H, T, D), (B, H, S, D), (B, H, S, D))
everyone = torch.ones(T, S, dtype=torch.bool)
refused = {
    "one axis": ((q[0, 0, 0], k, v), {}),
    "no axis": ((q, k, torch.ones(())), {}),
    "no tensor": ((None, k, v), {}),
    "an array": ((q.numpy(), k, v), {}),
    "a list as a mask": ((q, k, v, [[True] * S] * T), {}),
    "types differ": ((q, k.double(), v), {}),
    "integers": ((q.long(), k.long(), v.long()), {}),
    "complex numbers": ((q.to(torch.complex64), k.to(torch.complex64), v.to(torch.complex64)), {}),
    "a sparse tensor": ((q.to_sparse(), k, v), {}),
    "widths differ": ((q[..., :8], k, v), {}),
    "heads differ": ((q, k[:, :2], v[:, :2]), {}),
    "batches differ": ((q, k.repeat(2, 1, 1, 1)[:3], v.repeat(2, 1, 1, 1)[:3]), {}),
    "heads that do not divide": ((q, k[:, :3], v[:, :3]), dict(enable_gqa=True)),
    "more heads of keys": ((q[:, :2], k, v), dict(enable_gqa=True)),
    "groups without heads": ((q[0, 0], k[0, 0], v[0, 0]), dict(enable_gqa=True)),
    "a mask and is_causal": ((q, k, v, everyone), dict(is_causal=True)),
    "a mask of one axis": ((q, k, v, everyone[0]), {}),
    "a mask of one number": ((q, k, v, torch.ones(())), {}),
    "a mask (B, S)": ((q, k, v, everyone[:B]), {}),
    "a mask of other lengths": ((q, k, v, everyone[:, :-1]), {}),
    "floats of other lengths": ((q, k, v, torch.ones(T + 1, S)), {}),
    "a mask of other heads": ((q, k, v, everyone.expand(3, T, S)), {}),
    "a mask of other batches": ((q, k, v, everyone.expand(3, H, T, S)), {}),
    "a mask of five axes": ((q, k, v, everyone.expand(1, B, H, T, S)), {}),
    "a mask of doubles": ((q, k, v, everyone.double()), {}),
    "a mask of halves": ((q, k, v, everyone.half()), {}),
    "a mask of integers": ((q, k, v, everyone.long()), {}),
    "a mask of bytes": ((q, k, v, everyone.byte()), {}),
    "dropout above one": ((q, k, v), dict(dropout_p=1.5)),
    "dropout in words": ((q, k, v), dict(dropout_p="x")),
    "a scale in words": ((q, k, v), dict(scale="x")),
    "seven arguments": ((q, k, v, None, 0.0, True, 0.3), {}),
}


@pytest.mark.parametrize("name", refused)
def test_refuses_what_they_refuse_with_the_same_type_of_error(name):
    arguments, chosen = refused[name]
    with pytest.raises(Exception) as wanted:
        theirs(*arguments, **chosen)
    with pytest.raises(wanted.type):
        ours(*arguments, **chosen)


def test_says_what_a_mask_of_keys_needs():
    with pytest.raises(RuntimeError, match=r"attn_mask\[:, None, None, :\]"):
        ours(q, k, v, everyone[:B])


nan = float("nan")
differs = {
    # PyTorch drops the last keys, or reads behind the end of k, unless the widths of k and v differ.
    "values fewer than keys": ((q, k, v[:, :, :-1]), {}, RuntimeError, "same length"),
    "values more than keys": ((q, k[:, :, :-1], v), {}, RuntimeError, "same length"),
    # PyTorch says that these are not between 0 and 1 on one of its paths only.
    "dropout below zero": ((q, k, v), dict(dropout_p=-0.1), RuntimeError, "between 0 and 1"),
    "dropout that is not a number": ((q, k, v), dict(dropout_p=nan), RuntimeError, "between 0 and 1"),
    # PyTorch answers with NaN.
    "a scale that is not a number": ((q, k, v), dict(scale=nan), ValueError, "finite"),
    "an infinite scale": ((q, k, v), dict(scale=float("inf")), ValueError, "finite"),
    # PyTorch answers with whatever was in memory.
    "no heads of keys": ((q, k[:, :0], v[:, :0]), dict(enable_gqa=True), RuntimeError, "must divide"),
}


@pytest.mark.parametrize("name", differs)
def test_refuses_what_they_take(name):
    arguments, chosen, kind, message = differs[name]
    with pytest.raises(kind, match=message):
        ours(*arguments, **chosen)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_types_are_left_to_pytorch(dtype):
    arguments = [x.to(dtype) for x in (q, k, v)]
    assert torch.equal(ours(*arguments), theirs(*arguments))


def test_without_numbers_only_shapes():
    out = ours(*(x.to("meta") for x in (q, k, v[..., :E])), is_causal=True)
    assert out.is_meta and out.shape == (B, H, T, E)


@pytest.mark.parametrize(
    "chosen",
    [{}, dict(is_causal=True), dict(attn_mask=everyone), dict(attn_mask=everyone.float()), dict(dropout_p=0.5)],
    ids=["plain", "causal", "booleans", "floats", "dropout"],
)
def test_compiles_into_one_graph(chosen):
    step = lambda q: ours(q * 2, k, v, **chosen)
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    if "dropout_p" in chosen:
        assert not torch.equal(compiled(q), compiled(q))
    else:
        assert torch.allclose(compiled(q), step(q), atol=1e-6)
