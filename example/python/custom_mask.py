"""Training through a mask of your own, in PyTorch, on the CPU, where FlexAttention has no backward.

The task: predict the symbol three positions earlier. Queries attend to the positions three, six, nine ... before
their own; the slopes of ALiBi, which reduce the weight of distant positions, are learned with all parameters.
"""

import torch

import qkv
import qkv.torch

torch.manual_seed(1)
H, D, T = 2, 8, 48
# Evaluated once for a shape; masked tiles are not computed.
every_third = qkv.mask_mod(lambda b, h, q_idx, kv_idx: (q_idx > kv_idx) & ((q_idx - kv_idx) % 3 == 0))


class Layer(torch.nn.Module):
    def __init__(self, width=H * D):
        super().__init__()
        self.project = torch.nn.Linear(width, 3 * width)
        self.slopes = torch.nn.Parameter(torch.full((H,), 0.01))

    def forward(self, x):
        q, k, v = self.project(x).unflatten(-1, (3, H, D)).permute(2, 0, 3, 1, 4)  # (B, H, T, D) each, no copies
        out = qkv.torch.attention(q, k, v, mask=every_third, modify=[qkv.alibi(self.slopes)])
        return out.transpose(1, 2).flatten(2)


symbols = torch.nn.Embedding(10, H * D)
layer, answer = Layer(), torch.nn.Linear(H * D, 10)
parameters = [*symbols.parameters(), *layer.parameters(), *answer.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.02)
for step in range(150):
    sequence = torch.randint(10, (8, T))
    logits = answer(layer(symbols(sequence)))[:, 3:]
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), sequence[:, :-3].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (0, 149):
        right = (logits.argmax(-1) == sequence[:, :-3]).float().mean().item()
        print(
            f"step {step + 1}: loss {loss.item():.2f}, {right:.0%} right, "
            f"slopes {[f'{s:.2f}' for s in layer.slopes.tolist()]}"
        )
