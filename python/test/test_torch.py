import pytest

torch = pytest.importorskip("torch")

import plain
import qkv
import qkv.torch
import sentence
from torch.nn.functional import scaled_dot_product_attention as reference

B, H, G, T, S, D, E = 2, 4, 2, 19, 33, 16, 12


def numbers(*shape, seed=0, dtype=torch.float32, grad=False):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    return x.requires_grad_(grad)


def inputs(dtype=torch.float32, grad=True):
    return [numbers(B, H, T, D, seed=1, dtype=dtype, grad=grad), numbers(B, G, S, D, seed=2, dtype=dtype, grad=grad),
            numbers(B, G, S, E, seed=3, dtype=dtype, grad=grad)]


def doubles(tensors):
    return [x.detach().double().requires_grad_(x.requires_grad) for x in tensors]


def expect_near(got, wanted, tolerance=2e-5):
    assert got.shape == wanted.shape
    size = max(1e-3, wanted.abs().max().item()) if wanted.numel() else 1
    assert (got.double() - wanted.double()).abs().max().item() <= tolerance * size if wanted.numel() else True


# Parts that learn, parts that do not, and masks: what the tests of all of them, test_sentence.py, need not repeat.
some = ["nothing", "mask: causal", "mask: a function, and", "score: additive", "score: gaussian, learnt", "several modifiers",
        "normalize: sink", "reweigh: gaussian window"]


@pytest.mark.parametrize("name", some)
def test_compiles_into_one_graph(name):
    case = sentence.cases[name]
    parameters = [torch.from_numpy(x.copy()).requires_grad_() for x in case.arrays]
    options = case.options(*parameters)
    qkv_ = [torch.from_numpy(x).requires_grad_() for x in sentence.qkv_arrays()]

    def step(q, k, v):
        return qkv.torch.attention(q * 1.5, k, v, **options).sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    got, wanted = compiled(*qkv_), step(*qkv_)
    expect_near(got, wanted, 1e-6)
    for a, b in zip(torch.autograd.grad(got, [*qkv_, *parameters]), torch.autograd.grad(wanted, [*qkv_, *parameters])):
        expect_near(a, b, 1e-6)


def test_the_operator_is_well_formed():
    q, k, v = inputs()
    number = qkv.causal()
    torch.library.opcheck(torch.ops.qkv.attention.default, (q, k, v, [], [0, 0, number.number, 0], None, None, None, 0.0, 0))


j = torch.arange(S)[None]
sdpa_calls = {
    "plain": dict(),
    "causal": dict(is_causal=True),
    "scale": dict(scale=0.3),
    "booleans (T, S)": dict(attn_mask=(j % 3 != 0).expand(T, S)),
    "booleans (B, 1, 1, S)": dict(attn_mask=j.expand(B, 1, 1, S) < torch.tensor([20, 5])[:, None, None, None]),
    "a row that sees nothing": dict(attn_mask=torch.arange(T)[:, None].expand(T, S) != 4),
    "floats": dict(attn_mask=numbers(H, T, S, seed=11)),
}


@pytest.mark.parametrize("shapes", ["2", "3", "4", "5", "grouped"])
@pytest.mark.parametrize("name", sdpa_calls)
def test_sdpa_equals_pytorch(name, shapes):
    options = dict(sdpa_calls[name])
    heads = {"2": (), "3": (H,), "4": (B, H), "5": (3, B, H), "grouped": (B, H)}[shapes]
    fewer = (B, G) if shapes == "grouped" else heads
    if shapes == "grouped":
        options["enable_gqa"] = True
    if options.get("attn_mask") is not None and options["attn_mask"].dim() > len(heads) + 2:
        pytest.skip("the mask has more axes than the query")
    q, k, v = numbers(*heads, T, D, seed=1, grad=True), numbers(*fewer, S, D, seed=2, grad=True), numbers(*fewer, S, E, seed=3, grad=True)
    exact = doubles([q, k, v])
    options64 = {key: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for key, x in options.items()}
    wanted, got = reference(*exact, **options64), qkv.torch.scaled_dot_product_attention(q, k, v, **options)
    expect_near(got, wanted)
    upstream = torch.randn_like(got)
    for g, w in zip(torch.autograd.grad(got, [q, k, v], upstream), torch.autograd.grad(wanted, exact, upstream.double()), strict=True):
        expect_near(g, w, 1e-4)


def test_sdpa_gives_its_gradient_to_a_mask_of_floats():
    q, k, v = inputs(grad=False)
    mask = numbers(B, 1, T, S, seed=12, grad=True)
    upstream = numbers(B, H, T, E, seed=13)
    got = torch.autograd.grad(qkv.torch.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True), mask, upstream)[0]
    exact = mask.detach().double().requires_grad_()
    wanted = torch.autograd.grad(reference(q.double(), k.double(), v.double(), exact, enable_gqa=True), exact, upstream.double())[0]
    expect_near(got, wanted, 1e-4)


wrong = {
    "one axis": (lambda q, k, v: (q[0, 0, 0], k, v), {}, "at least 2 dimensional"),
    "types differ": (lambda q, k, v: (q, k.double(), v), {}, "same dtype"),
    "lengths of k and v differ": (lambda q, k, v: (q, k, v[:, :, :-1]), {}, "same length"),
    "widths differ": (lambda q, k, v: (q[..., :8], k, v), {}, "same width"),
    "heads differ": (lambda q, k, v: (q, k[:, :3], v[:, :3]), {}, "enable_gqa"),
    "mask and is_causal": (lambda q, k, v: (q, k, v, torch.ones(T, S, dtype=torch.bool)), dict(is_causal=True), "should not be set when is_causal"),
    "mask of doubles": (lambda q, k, v: (q, k, v, torch.ones(T, S, dtype=torch.float64)), {}, "attn_mask dtype"),
    "dropout": (lambda q, k, v: (q, k, v), dict(dropout_p=1.5), "between 0 and 1"),
}


@pytest.mark.parametrize("name", wrong)
def test_sdpa_refuses(name):
    change, options, words = wrong[name]
    q, k, v = numbers(B, H, T, D), numbers(B, H, S, D), numbers(B, H, S, E)
    with pytest.raises(RuntimeError, match=words):
        qkv.torch.scaled_dot_product_attention(*change(q, k, v), **options)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("widths", [{}, dict(kdim=10, vdim=14), dict(bias=False)])
def test_multihead_attention_equals_pytorch(widths, batch_first):
    torch.manual_seed(1)
    theirs = torch.nn.MultiheadAttention(32, 4, batch_first=batch_first, **widths)
    ours = qkv.torch.MultiheadAttention(32, 4, batch_first=batch_first, **widths)
    ours.load_state_dict(theirs.state_dict())
    axes = (lambda x: x) if batch_first else (lambda x: x.transpose(0, 1))
    q, k, v = axes(numbers(2, 5, 32, seed=1)), axes(numbers(2, 7, widths.get("kdim", 32), seed=2)), axes(numbers(2, 7, widths.get("vdim", 32), seed=3))
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    hidden = torch.arange(7)[None] > torch.arange(5)[:, None] + 2
    for options in ({}, dict(key_padding_mask=padding), dict(attn_mask=hidden), dict(attn_mask=hidden, key_padding_mask=padding, average_attn_weights=False)):
        (a, wa), (b, wb) = theirs(q, k, v, **options), ours(q, k, v, **options)
        expect_near(b, a.detach())
        expect_near(wb, wa.detach())


def test_the_call_without_gradients_says_where_they_are():
    q, k, v = inputs()
    with pytest.raises(ValueError, match="qkv.torch.attention"):
        qkv.attention(q, k, v)
    with torch.no_grad():
        assert isinstance(qkv.attention(q, k, v), torch.Tensor)


def test_negated_views_are_resolved():
    x = torch.randn(1, 1, 4, 8, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    expect_near(qkv.attention(x, x, x), plain.attention(*[x.resolve_neg().double()] * 3)[0])


def test_nothing_is_copied():
    q = torch.randn(2, 7, 4, 16).transpose(1, 2)
    out = qkv.attention(q, q, q)
    assert out.stride() == q.stride()
