import pytest

torch = pytest.importorskip("torch")

import formula
import qkv
import qkv.torch

B, H, G, T, S, D, E = 2, 4, 2, 19, 33, 16, 12


def numbers(*shape, seed=0, dtype=torch.float32, grad=False):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    return x.requires_grad_(grad)


def inputs(dtype=torch.float32, grad=True):
    return [
        numbers(B, H, T, D, seed=1, dtype=dtype, grad=grad),
        numbers(B, G, S, D, seed=2, dtype=dtype, grad=grad),
        numbers(B, G, S, E, seed=3, dtype=dtype, grad=grad),
    ]


def expect_near(got, wanted, tolerance=2e-5):
    assert got.shape == wanted.shape
    size = max(1e-3, wanted.abs().max().item()) if wanted.numel() else 1
    assert (got.double() - wanted.double()).abs().max().item() <= tolerance * size if wanted.numel() else True


# Parts that learn, parts that do not, and masks: what the tests of all of them, test_sentence.py, need not repeat.
some = [
    "nothing",
    "mask: causal",
    "mask: a function, and",
    "score: additive",
    "score: gaussian, learned",
    "several modifiers",
    "normalize: sink",
    "reweigh: gaussian window",
]


@pytest.mark.parametrize("name", some)
def test_compiles_into_one_graph(name):
    case = formula.cases[name]
    parameters = [torch.from_numpy(x.copy()).requires_grad_() for x in case.arrays]
    options = case.options(*parameters)
    qkv_ = [torch.from_numpy(x).requires_grad_() for x in formula.qkv_arrays()]

    def step(q, k, v):
        return qkv.torch.attention(q * 1.5, k, v, **options).sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    got, wanted = compiled(*qkv_), step(*qkv_)
    expect_near(got, wanted, 1e-6)
    for a, b in zip(
        torch.autograd.grad(got, [*qkv_, *parameters]), torch.autograd.grad(wanted, [*qkv_, *parameters])
    ):
        expect_near(a, b, 1e-6)


def test_the_operator_is_well_formed():
    q, k, v = inputs()
    mask = qkv.causal()
    for change in (lambda x: x, lambda x: x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()):
        torch.library.opcheck(
            torch.ops.qkv.attention.default,
            (change(q), change(k), change(v), [], [0, 0, mask.number, 4, 0], None, None, None, 0.0, None),
        )


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("widths", [{}, dict(kdim=10, vdim=14), dict(bias=False)])
def test_multihead_attention_equals_pytorch(widths, batch_first):
    torch.manual_seed(1)
    theirs = torch.nn.MultiheadAttention(32, 4, batch_first=batch_first, **widths)
    ours = qkv.torch.MultiheadAttention(32, 4, batch_first=batch_first, **widths)
    ours.load_state_dict(theirs.state_dict())
    axes = (lambda x: x) if batch_first else (lambda x: x.transpose(0, 1))
    q, k, v = (
        axes(numbers(2, 5, 32, seed=1)),
        axes(numbers(2, 7, widths.get("kdim", 32), seed=2)),
        axes(numbers(2, 7, widths.get("vdim", 32), seed=3)),
    )
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    masked = torch.arange(7)[None] > torch.arange(5)[:, None] + 2
    for options in (
        {},
        dict(key_padding_mask=padding),
        dict(attn_mask=masked),
        dict(attn_mask=masked, key_padding_mask=padding, average_attn_weights=False),
    ):
        (a, wa), (b, wb) = theirs(q, k, v, **options), ours(q, k, v, **options)
        expect_near(b, a.detach())
        expect_near(wb, wa.detach())


mapped = [numbers(3, B, H, T, D, seed=1), numbers(3, B, G, S, D, seed=2), numbers(3, B, G, S, E, seed=3)]
added = numbers(T, S, seed=4)
additive = qkv.additive(*(torch.from_numpy(x) for x in formula.cases["score: additive"].arrays))
functions = {
    "plain": qkv.torch.attention,
    "causal": lambda q, k, v: qkv.torch.attention(q, k, v, mask=qkv.causal()),
    "additive": lambda q, k, v: qkv.torch.attention(q, k, v, score=additive),
    "sdpa": lambda q, k, v: qkv.torch.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    "sdpa with numbers": lambda q, k, v: qkv.torch.scaled_dot_product_attention(q, k, v, added, enable_gqa=True),
}


@pytest.mark.parametrize("name", functions)
def test_functions_of_functions(name):
    """vmap, grad, and one of the other, as in torch.func."""
    f = functions[name]
    one_by_one = list(zip(*mapped))
    assert torch.equal(torch.func.vmap(f)(*mapped), torch.stack([f(*x) for x in one_by_one]))
    shared = torch.func.vmap(f, in_dims=(0, None, None))(mapped[0], mapped[1][0], mapped[2][0])
    assert torch.equal(shared[2], f(mapped[0][2], mapped[1][0], mapped[2][0]))
    loss = lambda *x: f(*x).sin().sum()
    wanted = []
    for arguments in one_by_one:
        leaves = [x.clone().requires_grad_() for x in arguments]
        wanted.append(torch.autograd.grad(loss(*leaves), leaves))
    gradient = torch.func.grad(loss, argnums=(0, 1, 2))
    for got, w in zip(gradient(*one_by_one[0]), wanted[0], strict=True):
        assert torch.equal(got, w)
    for got, w in zip(torch.func.vmap(gradient)(*mapped), map(torch.stack, zip(*wanted)), strict=True):
        assert torch.equal(got, w)


def test_functions_of_functions_that_have_no_answer_say_so():
    q, k, v = inputs()
    (once,) = torch.autograd.grad(qkv.torch.attention(q, k, v).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once, not twice"):
        once.sum().backward()
    with pytest.raises(RuntimeError, match="forward-mode"):
        torch.func.jvp(lambda q: qkv.torch.attention(q, k, v), (q,), (q,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward-mode"):
        qkv.torch.attention(torch.autograd.forward_ad.make_dual(q.detach(), k.new_ones(q.shape)), k, v)
    with pytest.raises(TypeError, match="alibi: slopes: .*vmap"):
        torch.func.vmap(lambda slopes: qkv.torch.attention(q, k, v, modify=qkv.alibi(slopes)))(numbers(3, H))
    with pytest.raises(RuntimeError, match="random"):
        torch.func.vmap(lambda q: qkv.torch.attention(q, k, v, dropout=0.5))(mapped[0])


@pytest.mark.parametrize("name", ["plain", "sdpa"])
def test_autocast_computes_in_its_type(name):
    f = functions[name]
    q, k, v = inputs()
    low = [x.bfloat16() for x in (q, k, v)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = f(q, k, v)
        assert torch.equal(out, f(*low)) and torch.equal(
            out, f(low[0], k, v)
        )  # a layer gives one type, a norm another
        grads = torch.autograd.grad(out.float().sum(), (q, k, v))
    assert out.dtype == torch.bfloat16 and all(g.dtype == torch.float32 for g in grads)
    with torch.autocast("cpu", dtype=torch.float16):  # not computed here: float32 stays
        assert torch.equal(f(q, k, v), f(q.detach(), k.detach(), v.detach()))


def test_recomputation_gives_the_same_gradients():
    q, k, v = inputs()
    f = lambda q: qkv.torch.attention(q, k, v, mask=qkv.causal(), dropout=0.3)
    torch.manual_seed(3)
    (wanted,) = torch.autograd.grad(f(q).sum(), q)
    torch.manual_seed(3)
    (got,) = torch.autograd.grad(torch.utils.checkpoint.checkpoint(f, q, use_reentrant=False).sum(), q)
    assert torch.equal(got, wanted)


def test_a_tensor_that_changes_before_the_backward_is_noticed():
    q, k, v = inputs()
    bias = numbers(T, S)
    out = qkv.torch.scaled_dot_product_attention(q, k, v, bias, enable_gqa=True)
    with torch.no_grad():
        k += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_results_have_the_memory_order_of_the_queries():
    q = torch.randn(2, 7, 4, 16).transpose(1, 2)
    for out in (
        qkv.attention(q, q, q),
        qkv.torch.attention(q, q, q),
        qkv.torch.attention(q.clone().requires_grad_(), q, q),
    ):
        assert out.stride() == q.stride()


def test_an_argument_of_pytorch_is_answered_with_ours():
    q, k, v = inputs()
    with pytest.raises(TypeError, match=r"^attention\(\) got .* 'is_causal'; qkv calls it mask=qkv.causal\(\)$"):
        qkv.torch.attention(q, k, v, is_causal=True)
