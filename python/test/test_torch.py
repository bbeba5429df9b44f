import pytest

torch = pytest.importorskip("torch")

import plain
import qkv
import qkv.torch
import sentence

B, H, G, T, S, D, E = 2, 4, 2, 19, 33, 16, 12


def numbers(*shape, seed=0, dtype=torch.float32, grad=False):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    return x.requires_grad_(grad)


def inputs(dtype=torch.float32, grad=True):
    return [numbers(B, H, T, D, seed=1, dtype=dtype, grad=grad), numbers(B, G, S, D, seed=2, dtype=dtype, grad=grad),
            numbers(B, G, S, E, seed=3, dtype=dtype, grad=grad)]


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
    torch.library.opcheck(torch.ops.qkv.attention.default, (q, k, v, [], [0, 0, number.number, 0], None, None, None, 0.0, None))


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
