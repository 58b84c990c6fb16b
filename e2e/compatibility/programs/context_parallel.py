"""Context parallelism of scaled dot-product attention."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel


def main():
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    project = torch.nn.Linear(512, 3 * 512, device=device, dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(project.parameters(), lr=1e-3)
    for step in range(8):
        x = torch.randn(2, 1024, 512, device=device, dtype=torch.bfloat16)
        with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            q, k, v = (part.unflatten(-1, (8, 64)).transpose(1, 2) for part in project(x).chunk(3, -1))
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            loss = out.float().pow(2).mean()
            loss.backward()
        for parameter in project.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


main()
