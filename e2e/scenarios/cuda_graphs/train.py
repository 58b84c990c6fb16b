"""A whole training step captured in a CUDA graph and replayed."""
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
x = torch.randn(64, 1024, device="cuda")
loss_fn = nn.MSELoss()


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = loss_fn(model(x), x)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_loss = step()
for i in range(12):
    x.copy_(torch.randn(64, 1024))
    graph.replay()
    print(f"step {i} loss {static_loss.item():.4f}", flush=True)
