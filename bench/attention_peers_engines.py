"""The engines that attention_peers.py times, each as its own manual calls it best. One process of this serves one:

    python3 attention_peers_engines.py "torch sdpa"

A line of JSON on stdin is a row of the table: its shape, its mask, the type and the direction; the answer is {} or
{"error": why not}. Then every line "round" is answered with {"ms": median of one round}, and "done" forgets the
row. A mask is whatever of these keys the row has: causal, window (so many keys, the own one counted), lengths (B),
documents (their lengths), radius and global (keys to each side; the first positions, which see all), blocks with
block (a table of blocks of that size), slopes (H, of ALiBi). With features the score is additive, of so many, and
its weights learn, too.
"""

import json
import math
import os
import statistics
import sys
import time

import numpy as np

ROWS = 16  # queries that are compared with the formula


class Unsupported(Exception):
    pass


class Row:
    def __init__(self, row):
        self.__dict__.update(row)
        self.B, self.H, self.G, self.T, self.S, self.D = (row[axis] for axis in "BHGTSD")
        self.causal = row.get("causal", False)
        self.window, self.lengths = row.get("window"), row.get("lengths")
        self.documents, self.blocks, self.slopes = row.get("documents"), row.get("blocks"), row.get("slopes")
        self.radius, self.globals, self.features = row.get("radius"), row.get("global"), row.get("features")
        self.plain = not (
            self.window or self.lengths or self.documents or self.radius or self.blocks or self.slopes
        )
        draw = np.random.RandomState(5)
        shapes = [(self.B, self.H, self.T, self.D)] + 2 * [(self.B, self.G, self.S, self.D)]
        self.q, self.k, self.v = (draw.standard_normal(shape).astype(np.float32) for shape in shapes)
        self.grad = draw.standard_normal(shapes[0]).astype(np.float32)
        if self.features:
            shapes = [(self.features, self.D), (self.features, self.D), (self.features,)]
            self.weights = [(draw.standard_normal(s) / math.sqrt(self.D)).astype(np.float32) for s in shapes]

    def document_of(self):
        return np.repeat(np.arange(len(self.documents)), self.documents)

    def visible(self, queries=None):
        """bool, (B or 1, 1, queries, S)."""
        queries = np.arange(self.T) if queries is None else queries
        i, j = queries[:, None], np.arange(self.S)[None]
        seen = np.ones((1, 1, len(queries), self.S), bool)
        if self.causal:
            seen = seen & (j <= i + self.S - self.T)
        if self.window:
            seen = seen & (j > i + self.S - self.T - self.window)
        if self.lengths:
            seen = seen & (j < np.array(self.lengths)[:, None, None, None])
        if self.documents:
            document = self.document_of()
            seen = seen & (document[i] == document[j])
        if self.radius:
            seen = seen & ((np.abs(i - j) <= self.radius) | (i < self.globals) | (j < self.globals))
        if self.blocks:
            seen = seen & (np.array(self.blocks)[i // self.block, j // self.block] != 0)
        return seen

    def bias(self, queries=None):
        """ALiBi, (1, H, queries, S)."""
        queries = np.arange(self.T) if queries is None else queries
        distance = np.abs(np.arange(self.S)[None] - (queries[:, None] + self.S - self.T)).astype(np.float32)
        return -np.array(self.slopes, np.float32)[None, :, None, None] * distance

    def dense_mask(self):
        """What an engine gets that knows no mask but a tensor: bool, float with -infinity, or none."""
        if self.slopes:
            return np.where(self.visible(), self.bias(), np.float32(-np.inf))
        return None if self.plain else self.visible()

    def reference(self, queries):
        group = self.H // self.G
        k, v = (np.repeat(x, group, axis=1).astype(np.float64) for x in (self.k, self.v))
        q = self.q[:, :, queries].astype(np.float64)
        if self.features:
            w_q, w_k, w = self.weights
            s = np.tanh((q @ w_q.T)[..., :, None, :] + (k @ w_k.T)[..., None, :, :]) @ w
        else:
            s = q @ k.swapaxes(-1, -2) / math.sqrt(self.D)
        if self.slopes:
            s += self.bias(queries)
        s = np.where(self.visible(queries), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ v


class Engine:
    """forward() and, where there is one, backward() are timed; output() is what forward() gave, (B,H,T,D)."""

    dense_copies = 1  # of a (B,H,T,S) array of floats that it holds at once
    additive = False  # whether its score is additive

    def __init__(self, row):
        self.row = row
        if self.additive != bool(row.features):
            raise Unsupported("for another score")
        needed = self.dense_copies * 4 * row.B * row.H * row.T * row.S
        if needed > 0.7 * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            raise Unsupported(f"it would need {needed / 2**30:.0f} GiB of memory")
        self.prepare(row)

    def backward(self):
        raise Unsupported("it has no backward")


class TorchSdpa(Engine):
    dense_copies = 0.3
    backends = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH")

    def prepare(self, row):
        import torch

        self.torch = torch
        torch.set_num_threads(row.threads)
        self.dtype = torch.bfloat16 if row.dtype == "bf16" else torch.float32
        self.q, self.k, self.v, self.grad = (
            torch.from_numpy(x).to(self.dtype) for x in (row.q, row.k, row.v, row.grad)
        )
        self.mask = self.torch_mask(row)
        self.choose(row)
        if row.direction == "backward":
            self.leaves = [x.requires_grad_() for x in (self.q, self.k, self.v)]
            self.out = self.attend(*self.leaves)

    def torch_mask(self, row):
        mask = row.dense_mask()
        if mask is None:
            return None
        mask = self.torch.from_numpy(np.ascontiguousarray(mask))
        return mask if mask.dtype == self.torch.bool else mask.to(self.dtype)

    def choose(self, row):
        """The fastest of the backends that take the call."""
        from torch.nn.attention import SDPBackend

        times = {}
        for name in self.backends if len(self.backends) > 1 else ():
            if name == "MATH" and times:
                continue  # never the faster one, and it needs the memory of all scores
            self.backend = getattr(SDPBackend, name)
            try:
                times[self.backend] = min(timed(self.forward) for _ in range(3))
            except RuntimeError:
                pass  # this backend does not take the call
        self.backend = min(times, key=times.get) if times else getattr(SDPBackend, self.backends[-1])

    def attend(self, q, k, v):
        from torch.nn.attention import sdpa_kernel

        with sdpa_kernel(self.backend):
            return self.torch.nn.functional.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=self.mask,
                is_causal=self.row.causal and self.mask is None,
                enable_gqa=self.row.H != self.row.G,
            )

    def forward(self):
        with self.torch.no_grad():
            return self.attend(self.q, self.k, self.v)

    def backward(self):
        return self.torch.autograd.grad(self.out, self.leaves, self.grad, retain_graph=True)

    def output(self, result):
        return result.float().numpy()


class TorchMath(TorchSdpa):
    dense_copies = 5
    backends = ("MATH",)


class TorchComposed(TorchSdpa):
    """Additive attention as one writes it: the (B,H,T,S,features) array in memory."""

    additive = True
    dense_copies = 600  # of so many features, about

    def choose(self, row):
        if row.dtype == "bf16":
            raise Unsupported("it is timed in fp32")
        self.weights = [self.torch.from_numpy(w).requires_grad_(row.direction == "backward") for w in row.weights]

    def attend(self, q, k, v):
        w_q, w_k, w = self.weights
        s = self.torch.tanh((q @ w_q.T).unsqueeze(-2) + (k @ w_k.T).unsqueeze(-3)) @ w
        return s.softmax(-1) @ v

    def backward(self):
        return self.torch.autograd.grad(self.out, self.leaves + self.weights, self.grad, retain_graph=True)


class TorchCut(TorchSdpa):
    """Calls cut along the mask by hand: one for each document or sentence; a window as blocks of `window` queries
    by twice as many keys."""

    def torch_mask(self, row):
        if not (row.window or row.documents or row.lengths):
            raise Unsupported("there is nothing to cut")
        if row.window and (row.B != 1 or row.H != row.G or row.T != row.S or row.T % row.window):
            raise Unsupported("the window does not divide the sequence")
        if not row.window:
            return None
        torch, w = self.torch, row.window
        i, j = torch.arange(w)[:, None], torch.arange(2 * w)[None] - w
        mask = ((j <= i) & (j > i - w)).repeat(row.T // w, 1, 1, 1)
        mask[0] &= j >= 0
        return mask

    def attend(self, q, k, v):
        torch, row = self.torch, self.row
        if row.documents:
            pieces = zip(*(x.split(row.documents, dim=2) for x in (q, k, v)))
            return torch.cat([super(TorchCut, self).attend(*piece) for piece in pieces], dim=2)
        if row.lengths:
            return torch.cat(
                [
                    super(TorchCut, self).attend(q[b : b + 1], k[b : b + 1, :, :n], v[b : b + 1, :, :n])
                    for b, n in enumerate(row.lengths)
                ]
            )
        w = row.window
        fold = lambda x: (
            torch.nn.functional.pad(x[0], (0, 0, w, 0)).unfold(1, 2 * w, w).permute(1, 0, 3, 2).contiguous()
        )
        queries = q[0].unflatten(1, (-1, w)).transpose(0, 1)
        return super().attend(queries, fold(k), fold(v)).transpose(0, 1).reshape(q.shape)


class TorchFlex(TorchSdpa):
    """flex_attention, compiled; without torch.compile it is the dense computation, and on CPUs it has no
    backward."""

    def choose(self, row):
        pass

    def torch_mask(self, row):
        if row.direction == "backward":
            raise Unsupported("it has no backward on CPUs")
        torch = self.torch
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        batch, size, score_mod, parts = None, 128, None, []
        if row.causal:
            parts.append(lambda b, h, i, j: i + (row.S - row.T) >= j)
        if row.window:
            parts.append(lambda b, h, i, j: j > i + (row.S - row.T) - row.window)
        if row.lengths:
            lengths, batch = torch.tensor(row.lengths), row.B
            parts.append(lambda b, h, i, j: j < lengths[b])
        if row.documents:
            document = torch.from_numpy(row.document_of())
            parts.append(lambda b, h, i, j: document[i] == document[j])
        if row.radius:
            parts.append(lambda b, h, i, j: ((i - j).abs() <= row.radius) | (i < row.globals) | (j < row.globals))
        if row.blocks:
            blocks, size = torch.tensor(row.blocks, dtype=torch.bool), row.block
            parts.append(lambda b, h, i, j: blocks[i // size, j // size])
        if row.slopes:
            slopes = torch.tensor(row.slopes)
            score_mod = lambda score, b, h, i, j: score - slopes[h] * (i + (row.S - row.T) - j).abs()

        def visible(b, h, i, j):
            seen = parts[0](b, h, i, j)
            for part in parts[1:]:
                seen = seen & part(b, h, i, j)
            return seen

        mask = (
            create_block_mask(visible, batch, None, row.T, row.S, device="cpu", BLOCK_SIZE=size) if parts else None
        )
        flex = torch.compile(flex_attention, dynamic=False)
        self.attend = lambda q, k, v: flex(q, k, v, score_mod=score_mod, block_mask=mask, enable_gqa=row.H != row.G)


class OnnxRuntime(Engine):
    """The operator Attention of ONNX: opset 23, and 24 for lengths."""

    dense_copies = 3

    def prepare(self, row):
        if row.dtype == "bf16":
            raise Unsupported("no bf16 on CPUs")
        self.feed, self.inputs, self.outputs = {}, [], []
        names = [self.add(name, getattr(row, name)) for name in "qkv"]
        causal, opset, mask = int(row.causal), 23, row.dense_mask()
        if row.lengths:
            opset = 24
            names += ["", "", "", self.add("lengths", np.array(row.lengths, np.int64))]
        elif mask is not None:
            causal = 0
            names.append(self.add("mask", mask))
        self.run(names, ["y"], opset, "Attention", is_causal=causal)

    def add(self, name, array):
        from onnx import helper

        self.feed[name] = np.ascontiguousarray(array)
        self.inputs.append(
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        )
        return name

    def run(self, names, outputs, opset, operator, domain="", **attributes):
        import onnxruntime
        from onnx import TensorProto, helper

        node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph([node], "attention", self.inputs, infos)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.row.threads
        options.log_severity_level = 4
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def forward(self):
        return self.session.run(None, self.feed)[0]

    def output(self, result):
        return result


class OnnxRuntimeContrib(OnnxRuntime):
    """Its own operators: GroupQueryAttention for grouped heads, windows and decoding, MultiHeadAttention for the
    rest."""

    def prepare(self, row):
        if row.dtype == "bf16":
            raise Unsupported("no bf16 on CPUs")
        if row.documents or row.blocks or row.radius:
            raise Unsupported("no such mask")
        self.feed, self.inputs, self.binding = {}, [], None
        if row.T == 1 or row.G != row.H or row.window:
            if row.T != 1 and not (row.causal and row.T == row.S):
                raise Unsupported("GroupQueryAttention is causal")
            return self.grouped(row)
        names = [self.add(name, self.flat(getattr(row, name))) for name in "qkv"]
        if row.lengths:
            names += ["", self.add("mask", row.visible(np.arange(1))[:, 0, 0].astype(np.int32))]
        elif row.slopes:
            names += ["", "", self.add("bias", row.bias())]
        self.run(
            names, ["y"], 17, "MultiHeadAttention", "com.microsoft", num_heads=row.H, unidirectional=int(row.causal)
        )

    @staticmethod
    def flat(x):  # (B,H,T,D) to (B,T,H*D)
        return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(x.shape[0], x.shape[2], -1)

    def grouped(self, row):
        """Decoding appends a last key to a cache that is input and output at once."""
        decodes = row.T == 1
        names = [self.add("q", self.flat(row.q))]
        names += [self.add(name, self.flat(getattr(row, name)[:, :, -row.T :])) for name in "kv"]
        names += [
            self.add("past_" + name, getattr(row, name)[:, :, : row.S if decodes else 0].copy()) for name in "kv"
        ]
        names.append(self.add("last", np.full(row.B, row.S - 1, np.int32)))
        names.append(self.add("total", np.array([row.S], np.int32)))
        window = {"local_window_size": row.window} if row.window else {}
        self.run(
            names,
            ["y", "new_k", "new_v"],
            17,
            "GroupQueryAttention",
            "com.microsoft",
            num_heads=row.H,
            kv_num_heads=row.G,
            **window,
        )
        if not decodes:
            return
        import onnxruntime

        self.values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in self.feed.items()}
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(np.empty((row.B, 1, row.H * row.D), np.float32))
        self.binding = self.session.io_binding()
        for name, value in self.values.items():
            self.binding.bind_ortvalue_input(name, value)
        for name, value in (("y", self.y), ("new_k", self.values["past_k"]), ("new_v", self.values["past_v"])):
            self.binding.bind_ortvalue_output(name, value)

    def forward(self):
        if not self.binding:
            return super().forward()
        self.session.run_with_iobinding(self.binding)
        return self.y.numpy()

    def output(self, result):
        row = self.row
        return result.reshape(row.B, row.T, row.H, row.D).transpose(0, 2, 1, 3)


class OpenVino(Engine):
    dense_copies = 1

    def prepare(self, row):
        import openvino
        from openvino import opset13 as op

        self.openvino = openvino
        kind = openvino.Type.bf16 if row.dtype == "bf16" else openvino.Type.f32
        mask, arrays = row.dense_mask(), [row.q, row.k, row.v]
        parameters = [op.parameter(list(x.shape), kind) for x in arrays]
        q, k, v = parameters
        if row.G != row.H:  # the pattern that its compiler knows: no copy is made
            group = np.array([row.B, row.G, row.H // row.G, row.S, row.D])
            heads = np.array([row.B, row.H, row.S, row.D])
            k, v = (
                op.reshape(
                    op.broadcast(op.unsqueeze(x, op.constant(np.array([2]))), op.constant(group)),
                    op.constant(heads),
                    False,
                )
                for x in (k, v)
            )
        more = {}
        if mask is not None:
            parameters.append(op.parameter(list(mask.shape), openvino.Type.boolean if mask.dtype == bool else kind))
            arrays.append(mask)
            more["attention_mask"] = parameters[-1]
        y = op.scaled_dot_product_attention(q, k, v, causal=row.causal and mask is None, **more)
        settings = {
            "INFERENCE_NUM_THREADS": row.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if row.dtype == "bf16" else "f32",
        }
        model = openvino.Core().compile_model(openvino.Model([y], parameters, "attention"), "CPU", settings)
        self.request = model.create_infer_request()
        for i, x in enumerate(arrays):
            self.request.set_input_tensor(i, self.tensor(np.ascontiguousarray(x), row))

    def tensor(self, x, row):
        if x.dtype == bool or row.dtype == "fp32":
            return self.openvino.Tensor(x)
        tensor = self.openvino.Tensor(self.openvino.Type.bf16, self.openvino.Shape(x.shape))
        bits = x.view(np.uint32)
        rounded = bits + 0x7FFF + (bits >> 16 & 1)  # to the nearest, ties to even
        tensor.data.view(np.uint16)[...] = (np.where(np.isinf(x), bits, rounded) >> 16).astype(np.uint16)
        return tensor

    def forward(self):
        self.request.infer()
        return self.request.get_output_tensor(0)

    def output(self, result):
        x = result.data
        if x.dtype != np.float32:
            x = (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return x


ENGINES = {
    "torch sdpa": TorchSdpa,
    "torch sdpa, cut by hand": TorchCut,
    "torch math": TorchMath,
    "torch flex": TorchFlex,
    "torch composed": TorchComposed,
    "onnxruntime": OnnxRuntime,
    "onnxruntime contrib": OnnxRuntimeContrib,
    "openvino": OpenVino,
}


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def check_mask(row):
    """That the mask built here is the one that attention_bench computes."""
    visible = row.visible()
    pairs = int(visible.sum()) * row.B // visible.shape[0]
    if pairs != row.visible_pairs:
        raise Unsupported(f"the mask has {pairs} visible pairs, that of attention_bench {row.visible_pairs}")


def prepared(name, row):
    """The call to time, after a look at what it gives."""
    check_mask(row)
    engine = ENGINES[name](row)
    if row.direction == "backward":
        engine.backward()
        return engine, engine.backward
    queries = np.sort(np.random.RandomState(9).permutation(row.T)[:ROWS])
    got, wanted = engine.output(engine.forward())[:, :, queries], row.reference(queries)
    error, allowed = np.abs(got - wanted).max(), 0.05 if row.dtype == "bf16" else 1e-4
    if not error <= allowed:
        raise Unsupported(f"its output is off by {error:.2g}")
    return engine, engine.forward


def round_of(call, seconds):
    times = [timed(call)]
    while len(times) < 3 or sum(times) < seconds:
        times.append(timed(call))
        if sum(times) > 20 * seconds:
            break
    return 1000 * statistics.median(times)


def serve(name):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries print things that are not an answer
    engine = call = row = None
    for line in sys.stdin:
        answer = {}
        try:
            if line.strip() == "round":
                answer = {"ms": round_of(call, row.seconds)}
            elif line.strip() == "done":
                engine = call = row = None
            else:
                engine = call = row = None
                row = Row(json.loads(line))
                engine, call = prepared(name, row)  # noqa: RUF059 (kept alive)
        except Exception as error:  # an engine that cannot do it is a result, too
            text = str(error).strip().splitlines()
            answer = {"error": text[0][:200] if text else type(error).__name__}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
