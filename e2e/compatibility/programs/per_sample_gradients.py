"""torch.func: gradients of each sample by vmap, clipped and noised as in differentially private training, with Muon."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
STEPS, BATCH = 12, 64


class Muon(torch.optim.Optimizer):
    """Momentum that is made orthogonal by Newton and Schulz's iteration."""

    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(p)
                buffer = state["buffer"].mul_(group["momentum"]).add_(p.grad)
                update = buffer.add(p.grad) if p.ndim < 2 else self.orthogonal(buffer)
                p.add_(update, alpha=-group["lr"])

    @staticmethod
    def orthogonal(matrix, steps=5, eps=1e-7):
        a, b, c = 3.4445, -4.7750, 2.0315
        x = matrix.bfloat16() / (matrix.norm() + eps)
        tall = x.size(0) > x.size(1)
        x = x.T if tall else x
        for _ in range(steps):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        return (x.T if tall else x).to(matrix.dtype)


model = nn.Sequential(nn.Linear(784, 1024), nn.GELU(), nn.Linear(1024, 512), nn.GELU(), nn.Linear(512, 10)).cuda()
parameters = dict(model.named_parameters())
optimizer = Muon(model.parameters())


def loss_of(weights, x, y):
    return nn.functional.cross_entropy(functional_call(model, weights, (x[None],)), y[None])


for step in range(STEPS):
    x, y = torch.randn(BATCH, 784, device="cuda"), torch.randint(0, 10, (BATCH,), device="cuda")
    gradients = vmap(grad(loss_of), in_dims=(None, 0, 0))({k: p.detach() for k, p in parameters.items()}, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
    scale = (1.0 / (norms + 1e-6)).clamp(max=1.0)
    for name, p in parameters.items():
        clipped = torch.einsum("b,b...->...", scale, gradients[name]) / BATCH
        p.grad = clipped + torch.randn_like(clipped) * 0.01 / BATCH
    optimizer.step()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(x), y)
    print(f"step {step} loss {loss.item():.4f}", flush=True)
