"""Processes that Python makes while the library computes: fork, spawn, and the workers of PyTorch's DataLoader."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

import qkv


def compute():
    q = np.random.default_rng(1).standard_normal((2, 4, 96, 32), dtype=np.float32)
    return qkv.attention(q, q, q, mask=qkv.causal())


def compute_to(queue):
    queue.put(compute())


class Computing:
    """A thread that computes as long as the block lasts."""

    def __enter__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop.is_set():
            compute()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_computes_the_same_bits_while_the_parent_computes(method):
    context = multiprocessing.get_context(method)
    expected = compute()
    with Computing():
        for _ in range(20 if method == "fork" else 2):
            queue = context.Queue()
            child = context.Process(target=compute_to, args=(queue,))
            child.start()
            np.testing.assert_array_equal(queue.get(timeout=60), expected)
            child.join(60)
            assert child.exitcode == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_of_processes_computes_the_same_bits(method):
    expected = compute()
    with multiprocessing.get_context(method).Pool(2) as pool:
        for result in [pool.apply_async(compute) for _ in range(4)]:
            np.testing.assert_array_equal(result.get(timeout=120), expected)


def test_os_fork_leaves_the_child_a_library_that_works():
    expected = compute()
    with Computing():
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(compute(), expected) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_workers_of_a_data_loader_compute():
    torch = pytest.importorskip("torch")

    class Attended(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            q = torch.full((1, 2, 16, 8), float(index))
            return qkv.torch.attention(q, q, q)

    import qkv.torch

    loader = torch.utils.data.DataLoader(Attended(), batch_size=2, num_workers=2)
    with Computing():
        for _ in range(3):
            values = torch.cat([batch[:, 0, 0, 0, 0] for batch in loader])
            torch.testing.assert_close(values, torch.arange(8.0))
