"""qkv.torch.distributed_attention over processes of PyTorch (gloo): results of one call, what is sent, errors."""

import datetime
import gc
import itertools
import pathlib
import random
import time

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist

import qkv
import qkv.torch


def _rank(rank, ranks, folder, timeout, body):
    qkv.set_threads(1)
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=timeout)
    dist.init_process_group("gloo", f"file://{folder}/store", timeout, ranks, rank)
    body(rank, ranks, pathlib.Path(folder))
    dist.destroy_process_group()


def run(ranks, body, folder, timeout=600):
    """Calls body(rank, ranks, folder) in `ranks` processes."""
    torch.multiprocessing.spawn(_rank, (ranks, str(folder), timeout, body), ranks)


def error_of(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def numbers(*shape, seed, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def draw_mask(dice, B, T, S):
    """A mask of the whole sequence, and its name."""
    lengths = [dice.randint(0, S) for _ in range(B)]

    def ids(length):
        return torch.tensor([sorted(dice.randint(0, 4) for _ in range(length)) for _ in range(B)])

    masks = {
        "none": lambda: None,
        "causal": qkv.causal,
        "window": lambda: qkv.window(dice.randint(0, 9), dice.randint(0, 3)),
        "causal window": lambda: qkv.causal() & qkv.window(dice.randint(0, 30), 0),
        "documents": lambda: qkv.documents(ids(T), ids(S)),
        "causal documents": lambda: qkv.causal() & qkv.documents(ids(T), ids(S)),
        "padding": lambda: qkv.padding(torch.tensor(lengths)),
        "dense": lambda: qkv.dense(torch.rand(B, 1, T, S) < 0.4),
        "function": lambda: qkv.mask_mod(lambda b, h, i, j: (i + 2 * j + h) % 3 > 0),
    }
    name = dice.choice(list(masks))
    return name, masks[name]()


def draw_layout(dice, length, ranks):
    kind = dice.randint(0, 2)
    if kind < 2:
        return (qkv.torch.contiguous_layout, qkv.torch.zigzag_layout)[kind](length, ranks)
    cuts = [0, *sorted(dice.randint(0, length) for _ in range(2 * ranks)), length]
    return qkv.torch.SequenceLayout((a, b, dice.randrange(ranks)) for a, b in itertools.pairwise(cuts))


def random_calls(rank, ranks, _):
    for number in range(40):
        dice = random.Random(number)
        torch.manual_seed(number)
        G = dice.choice([1, 2, 4])
        B, H, T, S = dice.randint(1, 2), G * dice.choice([1, 2]), dice.randint(1, 90), dice.randint(1, 90)
        whole = [
            numbers(B, n, length, width, seed=number + width)
            for n, length, width in ((H, T, 8), (G, S, 8), (G, S, 5))
        ]
        dout = numbers(B, H, T, 5, seed=number)
        name, mask = draw_mask(dice, B, T, S)
        slopes = torch.rand(H)
        options = dict(mask=mask, dropout=dice.choice([0, 0.3]), seed=number)
        modify = dice.choice([lambda s: [], lambda s: [qkv.alibi(s)], lambda s: [qkv.softcap(3.0), qkv.alibi(s)]])
        distribution = dice.choice(["ring", "heads", "automatic"] if G % ranks == 0 else ["ring", "automatic"])
        layout, key_layout = draw_layout(dice, T, ranks), draw_layout(dice, S, ranks)

        one = [x.clone().requires_grad_() for x in (*whole, slopes)]
        wanted = qkv.torch.attention(*one[:3], modify=modify(one[3]), **options)
        wanted.backward(dout)

        mine = [l.rows_of(x, 2, rank) for l, x in zip((layout, key_layout, key_layout), whole)]
        mine = [x.requires_grad_() for x in (*mine, slopes.clone())]
        out = qkv.torch.distributed_attention(
            *mine[:3],
            modify=modify(mine[3]),
            layout=layout,
            key_layout=key_layout,
            distribution=distribution,
            **options,
        )
        out.backward(layout.rows_of(dout, 2, rank))
        of_slopes = torch.zeros(H) if mine[3].grad is None else mine[3].grad
        dist.all_reduce(of_slopes)

        call = f"call {number}, {name}, {distribution}, {layout}, {key_layout}"
        pairs = [("out", out, layout.rows_of(wanted, 2, rank), 1e-6)]
        for n, x, y, l in zip("qkv", mine, one, (layout, key_layout, key_layout)):
            pairs.append((f"d{n}", x.grad, l.rows_of(y.grad, 2, rank), 2e-6))
        if one[3].grad is not None:
            pairs.append(("slopes", of_slopes, one[3].grad, 1e-5))
        for what, got, expected, tolerance in pairs:
            largest = max(1, expected.abs().max().item()) if expected.numel() else 1
            assert got.shape == expected.shape, call
            assert not got.numel() or (got - expected).abs().max().item() <= tolerance * largest, f"{what}: {call}"


@pytest.mark.parametrize("ranks", [2, 4])
def test_random_calls_have_the_results_of_one_call(ranks, tmp_path):
    run(ranks, random_calls, tmp_path)


def random_multi_token_calls(rank, ranks, _):
    for number in range(20):
        dice = random.Random(100 + number)
        torch.manual_seed(number)
        B, G, T, S = dice.randint(1, 2), dice.choice([1, 2]), dice.randint(1, 70), dice.randint(1, 70)
        H = 4
        whole = [
            numbers(B, n, length, width, seed=number + width)
            for n, length, width in ((H, T, 8), (G, S, 8), (G, S, 5))
        ]
        taps = [torch.randn(H, 1, dice.choice([1, 3, 6]), dice.choice([1, 5, 11])) for _ in range(2)]
        mixes = [torch.randn(H, H), torch.randn(H // 2, 2, 2), torch.randn(H, H)]
        names = ["pre_conv", "post_conv", "pre_mix", "post_head", "post_mix"]
        arrays = {name: x for name, x in zip(names, taps + mixes) if dice.random() < 0.6}
        if "post_mix" in arrays:  # they exclude each other
            arrays.pop("post_head", None)
        mask = dice.choice([None, qkv.causal(), qkv.window(7, 0), qkv.causal() & qkv.window(20, 0)])
        options = dict(mask=mask, pad_key=dice.choice(["both", "left", "right"]), scale=0.3)
        layout, key_layout = draw_layout(dice, T, ranks), draw_layout(dice, S, ranks)
        dout = numbers(B, H, T, 5, seed=number)

        one = [x.clone().requires_grad_() for x in whole]
        of_one = {name: x.clone().requires_grad_() for name, x in arrays.items()}
        wanted = qkv.torch.multi_token_attention(*one, **of_one, **options)
        wanted.backward(dout)

        mine = [l.rows_of(x, 2, rank).requires_grad_() for l, x in zip((layout, key_layout, key_layout), whole)]
        of_mine = {name: x.clone().requires_grad_() for name, x in arrays.items()}
        out = qkv.torch.distributed_multi_token_attention(
            *mine, **of_mine, **options, layout=layout, key_layout=key_layout
        )
        out.backward(layout.rows_of(dout, 2, rank))
        pairs = [("out", out, layout.rows_of(wanted, 2, rank))]
        for n, x, y, l in zip("qkv", mine, one, (layout, key_layout, key_layout)):
            pairs.append((f"d{n}", x.grad, l.rows_of(y.grad, 2, rank)))
        for name, x in of_mine.items():
            dist.all_reduce(x.grad)
            pairs.append((name, x.grad, of_one[name].grad))
        for what, got, expected in pairs:
            largest = max(1, expected.abs().max().item()) if expected.numel() else 1
            assert got.shape == expected.shape
            difference = (got - expected).abs().max().item() if got.numel() else 0
            assert difference <= 2e-5 * largest, f"{what}: call {number}, {list(arrays)}, {layout}, {key_layout}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_random_multi_token_calls_have_the_results_of_one_call(ranks, tmp_path):
    run(ranks, random_multi_token_calls, tmp_path)


def calls_with_gradients(rank, ranks, _):
    q = numbers(1, 2, 8, 4, seed=rank).requires_grad_()
    for call in (qkv.torch.distributed_attention, qkv.torch.distributed_multi_token_attention):
        call(q, q, q, mask=qkv.causal()).sum().backward()
    assert not [x for x in gc.get_objects() if isinstance(x, qkv._distributed._Transport)]


def test_calls_do_not_keep_the_process_group(tmp_path):
    run(2, calls_with_gradients, tmp_path)


def what_is_sent(rank, ranks, _):
    sent = 0
    isend = dist.isend

    def counted(tensor, *arguments):
        nonlocal sent
        sent += tensor.numel() * tensor.element_size()
        return isend(tensor, *arguments)

    dist.isend = counted

    def sent_by_all(call):
        nonlocal sent
        sent = 0
        result = call()
        total = torch.tensor(sent)
        dist.all_reduce(total)
        return total.item(), result

    T, H, G, D = 512, 4, 2, 8
    key = 2 * G * D * 4  # bytes of a key and its value
    documents = qkv.documents(torch.arange(T)[None] // (T // ranks))
    zigzag = qkv.torch.zigzag_layout(T, ranks)
    for mask, layout, keys in (
        (qkv.window(20, 0), None, (ranks - 1) * 20),
        (documents, None, 0),
        (qkv.causal(), None, sum(range(ranks)) * T // ranks),
        (qkv.causal(), zigzag, sum(2 * ranks - r - 2 for r in range(ranks)) * T // (2 * ranks)),
        (None, None, (ranks - 1) * T),
    ):
        q, k, v = (numbers(1, n, T // ranks, D, seed=rank).requires_grad_() for n in (H, G, G))
        options = dict(mask=mask, layout=layout, distribution="ring")
        preparation, plan = sent_by_all(lambda: qkv.torch.distributed_plan(q, k, v, **options))
        forward, out = sent_by_all(lambda: qkv.torch.distributed_attention(q, k, v, **options))
        backward, _ = sent_by_all(lambda: out.sum().backward())
        assert forward - preparation == plan.ring_forward == keys * key, mask
        assert backward == plan.ring_backward == 2 * keys * key, mask
        assert plan.chosen == "ring" and "bytes in the forward" in str(plan)


@pytest.mark.parametrize("ranks", [2, 4])
def test_sends_what_the_mask_needs(ranks, tmp_path):
    run(ranks, what_is_sent, tmp_path)


def other_types(rank, ranks, _):
    layout = qkv.torch.zigzag_layout(64, ranks)
    for dtype, tolerance in ((torch.bfloat16, 0.02), (torch.float16, 2e-3), (torch.float64, 1e-6)):
        whole = [numbers(1, 2, 64, 8, seed=n, dtype=dtype) for n in range(3)]
        mine = [layout.rows_of(x, 2, rank).requires_grad_() for x in whole]
        out = qkv.torch.distributed_attention(*mine, mask=qkv.causal(), layout=layout)
        wanted = qkv.torch.attention(*whole, mask=qkv.causal())
        out.sum().backward()
        assert out.dtype == dtype and mine[0].grad.dtype == dtype
        assert (out - layout.rows_of(wanted, 2, rank)).abs().max() < tolerance
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert qkv.torch.distributed_attention(*(x.detach().float() for x in mine)).dtype == torch.bfloat16
    with torch.no_grad():
        assert not qkv.torch.distributed_attention(*mine, layout=layout).requires_grad


def test_types_are_those_of_attention(tmp_path):
    run(2, other_types, tmp_path)


def in_groups(rank, ranks, _):
    groups = [dist.new_group([0, 2]), dist.new_group([3, 1])]  # of ranks of their own, 0 and 1
    group = groups[rank % 2]
    own = dist.get_rank(group)
    layout = qkv.torch.zigzag_layout(40, 2)
    whole = [numbers(1, 2, 40, 8, seed=10 * (rank % 2) + n) for n in range(3)]
    mine = [layout.rows_of(x, 2, own) for x in whole]
    out = qkv.torch.distributed_attention(*mine, mask=qkv.causal(), layout=layout, group=group)
    wanted = layout.rows_of(qkv.torch.attention(*whole, mask=qkv.causal()), 2, own)
    assert (out - wanted).abs().max() < 1e-6


def test_a_group_is_some_of_the_processes(tmp_path):
    run(4, in_groups, tmp_path)


def wrong_calls(rank, ranks, folder):
    q, k, v = (numbers(1, 2, 8, 4, seed=n) for n in range(3))
    attend = qkv.torch.distributed_attention
    q.requires_grad_(rank == 0)
    assert "all ranks must make the same call" in error_of(lambda: attend(q, k, v))
    q = q.detach()
    wide = numbers(1, 2, 8, 4 + 2 * rank, seed=1)
    assert "all ranks must make the same call" in error_of(lambda: attend(wide, wide, v))
    layout = qkv.torch.contiguous_layout(20, ranks)
    assert f"rank {rank} must have 10 queries" in error_of(lambda: attend(q, k, v, layout=layout))
    assert "dropout needs a seed" in error_of(lambda: attend(q, k, v, dropout=0.1))
    assert "did you mean 'mask'" in error_of(lambda: attend(q, k, v, masks=qkv.causal()))
    assert "'rings'" in error_of(lambda: attend(q, k, v, distribution="rings"))
    wrong = numbers(1, 1, 8, 4, seed=1)
    assert "2 ranks do not divide G 1" in error_of(lambda: attend(q, wrong, wrong, distribution="heads"))
    assert "four axes" in error_of(lambda: attend(q[0], k, v))
    mine = [x.requires_grad_() for x in (q, k, v)]
    out = attend(*mine).sum()
    out.backward(retain_graph=True)
    assert "twice" in error_of(out.backward)
    layers = attend(*(2 * x for x in mine))  # after all of these the processes are in step
    layers.sum().backward()


def test_a_wrong_call_is_an_error_of_every_process(tmp_path):
    run(2, wrong_calls, tmp_path)


def test_gaps_of_a_layout_are_an_error():
    with pytest.raises(ValueError, match="blocks must follow one another"):
        qkv.torch.SequenceLayout([(0, 4, 0), (5, 8, 1)])
    with pytest.raises(ValueError, match="must have 8 rows"):
        qkv.torch.contiguous_layout(8, 2).rows_of(torch.zeros(7, 2), 0, 1)


def test_without_a_group_it_is_an_error():
    with pytest.raises(ValueError, match="init_process_group"):
        qkv.torch.distributed_attention(*(numbers(1, 1, 4, 4, seed=n) for n in range(3)))


def leaves_the_others(rank, ranks, folder):
    q, k, v = (numbers(1, 2, 8, 4, seed=n) for n in range(3))
    if rank == 1:

        def mask(b, h, i, j):
            raise ArithmeticError("in the mask")

        error = error_of(lambda: qkv.torch.distributed_attention(q, k, v, mask=qkv.mask_mod(mask)))
        assert error == "ArithmeticError: in the mask"
        return  # this process ends
    error = error_of(lambda: qkv.torch.distributed_attention(q, k, v, mask=qkv.mask_mod(lambda b, h, i, j: j <= i)))
    (folder / f"error-{rank}").write_text(error)


def test_a_process_that_fails_is_an_error_of_the_others(tmp_path):
    run(2, leaves_the_others, tmp_path, timeout=36000)  # the end of the other process comes before
    assert "RuntimeError" in (tmp_path / "error-0").read_text()


def never_calls(rank, ranks, folder):
    if rank == 1:
        while not (folder / "error").exists():
            time.sleep(0.05)
        return
    error = error_of(lambda: qkv.torch.distributed_attention(*(numbers(1, 2, 8, 4, seed=n) for n in range(3))))
    (folder / "error").write_text(error)


def test_a_process_that_does_not_come_is_an_error_after_the_timeout_of_the_group(tmp_path):
    run(2, never_calls, tmp_path, timeout=3)
    assert "RuntimeError" in (tmp_path / "error").read_text()
