"""torch.compile in its modes: default, reduce-overhead (CUDA graphs), and dynamic shapes."""

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.up = torch.nn.Linear(256, 512)
        self.down = torch.nn.Linear(512, 256)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def train(name, rows, **options):
    torch._dynamo.reset()
    model = Block().cuda()
    compiled = torch.compile(model, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, count in enumerate(rows):
        loss = compiled(torch.randn(count, 256, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{name} step {step} loss {loss.item():.4f}", flush=True)


def main():
    train("default", [64] * 4)
    train("reduce-overhead", [64] * 6, mode="reduce-overhead")
    train("dynamic", [64, 48, 96, 80], dynamic=True)


main()
