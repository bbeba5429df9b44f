"""FlexAttention's score_mod and BlockMask with gradients, on the CPU: a learned relative position bias."""

import torch
from torch.nn.attention.flex_attention import create_block_mask

import qkv.torch

torch.manual_seed(1)
B, H, T, D = 2, 2, 64, 16
q, k, v = torch.randn(3, B, H, T, D).requires_grad_()
table = torch.randn(H, 2 * T - 1, requires_grad=True)  # a number for each head and distance
documents = (torch.arange(T) // 20).expand(B, T)


def relative_bias(score, b, h, q_idx, kv_idx):
    return score + table[h, q_idx - kv_idx + T - 1]


def causal_documents(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) & (documents[b, q_idx] == documents[b, kv_idx])


block_mask = create_block_mask(causal_documents, B, None, T, T, device="cpu")
out = qkv.torch.flex_attention(q, k, v, score_mod=relative_bias, block_mask=block_mask)
out.square().mean().backward()
print("gradient of the table:", tuple(table.grad.shape))

# The same with parts of qkv, which need no call of Python for a tile.
distances = torch.arange(T)[:, None] - torch.arange(T) + T - 1
mask = qkv.causal() & qkv.documents(documents)
same = qkv.torch.attention(q, k, v, mask=mask, modify=qkv.bias(table[:, distances]))
print("equal to a bias and masks:", torch.allclose(out, same, atol=1e-6))
