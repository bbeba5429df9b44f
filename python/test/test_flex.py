"""qkv.torch.flex_attention beside PyTorch's own, in float64. That has no backward on CPUs: the formula has one."""

import functools

import pytest

torch = pytest.importorskip("torch")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import qkv.torch

B, H, T, S, D, E = 2, 4, 150, 150, 16, 8
pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


slopes = numbers(H, seed=5).abs()
documents = torch.tensor([[0] * 60 + [1] * 50 + [2] * 40, [0] * 20 + [1] * 130])
prefix = torch.tensor([30, 70])
bias = numbers(2 * T, seed=6)
score_mods = {
    "none": None,
    "causal": lambda score, b, h, q_idx, kv_idx: torch.where(q_idx >= kv_idx, score, -float("inf")),
    "alibi": lambda score, b, h, q_idx, kv_idx: score + slopes[h].to(score.dtype) * (kv_idx - q_idx),
    "soft-cap": lambda score, b, h, q_idx, kv_idx: 20 * torch.tanh(score / 20),
    "relative": lambda score, b, h, q_idx, kv_idx: score + (q_idx - kv_idx),
    "relative bias": lambda score, b, h, q_idx, kv_idx: score + bias.to(score.dtype)[q_idx - kv_idx + T],
}
mask_mods = {
    "causal": lambda b, h, q_idx, kv_idx: q_idx >= kv_idx,
    "sliding window": lambda b, h, q_idx, kv_idx: (q_idx >= kv_idx) & (q_idx - kv_idx <= 33),
    "documents": lambda b, h, q_idx, kv_idx: documents[b, q_idx] == documents[b, kv_idx],
    "prefix-lm": lambda b, h, q_idx, kv_idx: (kv_idx <= prefix[b]) | (q_idx >= kv_idx),
    "heads": lambda b, h, q_idx, kv_idx: (q_idx + kv_idx) % (h + 2) == 0,
    "none": flex.noop_mask,
    "nothing": lambda b, h, q_idx, kv_idx: q_idx < 0,
}


def inputs(G=H, lengths=(T, S)):
    return [
        numbers(*s, seed=n)
        for n, s in enumerate(((B, H, lengths[0], D), (B, G, lengths[1], D), (B, G, lengths[1], E)))
    ]


def formula(q, k, v, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    at = [torch.arange(n).view(*(n if a == axis else 1 for a in range(4))) for axis, n in enumerate(s.shape)]
    if score_mod is not None:
        s = score_mod(s, *at)
    if block_mask is not None:
        s = torch.where(block_mask.mask_mod(*at), s, -torch.inf)
    sees_none = s.amax(-1, True) == -torch.inf
    out = torch.softmax(s.masked_fill(sees_none, 0), -1).masked_fill(sees_none, 0) @ v
    return (out, s.logsumexp(-1)) if return_lse else out


def with_gradients(function, arguments, dtype, **options):
    leaves = [x.to(dtype, copy=True).requires_grad_() for x in arguments]
    out = function(*leaves, **options)
    out, more = (out[0], list(out[1:])) if isinstance(out, tuple) else (out, [])
    upstream = numbers(*out.shape, seed=9).to(dtype)
    return [out.detach(), *(x.detach() for x in more), *torch.autograd.grad(out, leaves, upstream)]


def expect_near(got, wanted):
    finite = wanted.isfinite()
    assert got.shape == wanted.shape and torch.equal(got.isfinite(), finite)
    size = wanted[finite].abs().amax().item() if finite.any() else 0
    assert not finite.any() or (got.double() - wanted)[finite].abs().max() <= 2e-5 * max(size, 1e-3)


def expect_equal(arguments, **options):
    got = with_gradients(qkv.torch.flex_attention, arguments, torch.float32, **options)
    wanted = with_gradients(formula, arguments, torch.float64, **options)
    for g, w in zip(got, wanted, strict=True):
        expect_near(g, w)
    theirs = flex.flex_attention(*(x.double() for x in arguments), **options)
    for g, w in zip(got, theirs if isinstance(theirs, tuple) else (theirs,)):
        expect_near(g, w)


@pytest.mark.parametrize("name", score_mods)
def test_score_mods(name):
    expect_equal(inputs(), score_mod=score_mods[name])
    expect_equal(inputs(2), score_mod=score_mods[name], enable_gqa=True, scale=0.3, return_lse=True)


@pytest.mark.parametrize("block", [128, 16, (32, 48)])
@pytest.mark.parametrize("name", mask_mods)
def test_block_masks(name, block):
    made = flex.create_block_mask(mask_mods[name], B, H, T, S, device="cpu", BLOCK_SIZE=block)
    expect_equal(inputs(), block_mask=made, return_lse=name != "nothing")


@pytest.mark.parametrize("name", ["causal", "alibi", "soft-cap"])
def test_a_score_mod_and_a_block_mask(name):
    made = flex.create_block_mask(mask_mods["sliding window"], None, None, T, S, device="cpu")
    expect_equal(inputs(), score_mod=score_mods[name], block_mask=made)


def test_combined_mask_functions():
    both = flex.and_masks(mask_mods["causal"], mask_mods["documents"])
    expect_equal(inputs(), block_mask=flex.create_block_mask(both, B, None, T, S, device="cpu"))


def test_a_block_mask_of_blocks_alone():
    counts, columns = torch.tensor([[[1, 2, 0]]]), torch.tensor([[[[2, 0, 0], [0, 1, 0], [0, 0, 0]]]])
    made = flex.BlockMask.from_kv_blocks(counts.int(), columns.int(), BLOCK_SIZE=64, seq_lengths=(T, S))
    q, k, v = inputs()
    out = qkv.torch.flex_attention(q, k, v, block_mask=made)
    table = torch.tensor([[False, False, True], [True, True, False], [False, False, False]])
    wanted = qkv.torch.attention(q, k, v, mask=qkv.blocks(table, 64))
    assert torch.equal(out, wanted) and (out[:, :, 128:] == 0).all() and (out[:, :, :128] != 0).any()


def test_a_mask_function_needs_no_block_mask():
    made = flex.create_block_mask(mask_mods["documents"], B, H, T, S, device="cpu")
    q, k, v = inputs()
    f = qkv.torch.flex_attention
    assert torch.equal(f(q, k, v, block_mask=mask_mods["documents"]), f(q, k, v, block_mask=made))


def test_gradients_of_captured_tensors():
    results = []
    for function, dtype in ((qkv.torch.flex_attention, torch.float32), (formula, torch.float64)):
        w = slopes.to(dtype, copy=True).requires_grad_()

        def mod(score, b, h, q_idx, kv_idx, w=w):
            return score + w[h] * (kv_idx - q_idx)

        closed = functools.partial(mod, w=w)
        out = function(*(x.to(dtype) for x in inputs()), score_mod=closed)
        results.append(torch.autograd.grad(out, w, numbers(*out.shape, seed=9).to(dtype))[0])
    expect_near(*results)


def test_a_compiled_function_may_call_it():
    step = lambda q, k, v: qkv.torch.flex_attention(q * 2, k, v, score_mod=score_mods["alibi"]).sum()
    leaves = [x.requires_grad_() for x in inputs()]
    compiled = torch.compile(step, backend="aot_eager")
    for g, w in zip(*(torch.autograd.grad(f(*leaves), leaves) for f in (compiled, step)), strict=True):
        assert torch.equal(g, w)


def test_what_does_not_fit():
    q, k, v = inputs(2)
    with pytest.raises(ValueError, match="query has 4 heads and key 2: pass enable_gqa=True"):
        qkv.torch.flex_attention(q, k, v)
    with pytest.raises(ValueError, match="query must have four axes"):
        qkv.torch.flex_attention(q[0], k, v)
    made = flex.create_block_mask(mask_mods["causal"], None, None, 64, 64, device="cpu")
    with pytest.raises(ValueError, match=r"block_mask is for lengths \(64, 64\); query has 150"):
        qkv.torch.flex_attention(*inputs(), block_mask=made)


def test_a_number_is_learned_in_every_entry_point():
    torch.manual_seed(1)
    inputs = [torch.randn(1, 2, 9, 8, requires_grad=True) for _ in range(3)]
    p = torch.nn.Parameter(torch.tensor(0.1))

    def mod(s, b, h, i, j):
        return s - p * (i - j).abs()

    def gradients(call):
        p.grad = None
        call(*inputs).square().sum().backward()
        assert p.grad.shape == ()
        return p.grad

    at = torch.arange(9)

    def plain(q, k, v):
        scores = q @ k.transpose(-1, -2) / 8**0.5 - p * (at[:, None] - at).abs()
        return scores.softmax(-1) @ v

    wanted = gradients(plain)
    for call in (
        lambda q, k, v: qkv.torch.attention(q, k, v, modify=qkv.score_mod(mod)),
        lambda q, k, v: qkv.torch.flex_attention(q, k, v, score_mod=mod),
    ):
        assert torch.allclose(gradients(call), wanted, rtol=1e-4)


def test_a_function_that_returns_nothing_is_refused_in_every_entry_point():
    q = torch.randn(1, 2, 9, 8, requires_grad=True)
    for call in (
        lambda: qkv.torch.attention(q, q, q, modify=qkv.score_mod(lambda s, *_: None)),
        lambda: qkv.torch.flex_attention(q, q, q, score_mod=lambda s, *_: None),
        lambda: qkv.torch.flex_attention(q, q, q, block_mask=lambda b, h, i, j: None),
    ):
        with pytest.raises(TypeError, match="the function returned None; it must return .*`return`"):
            call()
