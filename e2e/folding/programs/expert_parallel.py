"""A mixture of experts: routing, an exchange of counts and of tokens between EXPERT_RANKS ranks, and data parallelism.

expert_parallel.py EXPERT_RANKS
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as exchange
from torch.distributed.device_mesh import init_device_mesh

places = int(sys.argv[1])
TOKENS, WIDTH, EXPERTS = 512, 512, 8
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
mesh = init_device_mesh("cuda", (dist.get_world_size() // places, places), mesh_dim_names=("dp", "ep"))
group = mesh["ep"].get_group()
torch.manual_seed(1)


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(WIDTH, EXPERTS, bias=False)
        self.own = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS // places))

    def forward(self, tokens):
        weight = self.router(tokens).softmax(-1).amax(-1)
        # By the tokens' numbers, as routers by hashes do: what large kernels compute is not known here.
        chosen = (torch.arange(TOKENS, device=device) + dist.get_rank()) * 7 % EXPERTS
        order = chosen.argsort(stable=True)
        counts = torch.bincount(chosen, minlength=EXPERTS).view(places, -1)
        arriving = torch.empty_like(counts)
        dist.all_to_all_single(arriving, counts, group=group)
        sent, received = counts.sum(1).tolist(), arriving.sum(1).tolist()
        mixed = tokens.new_empty(sum(received), WIDTH)
        mixed = exchange.all_to_all_single(mixed, tokens[order], received, sent, group=group)
        pieces = mixed.split(arriving.flatten().tolist())
        ready = [self.own[i % len(self.own)](piece) for i, piece in enumerate(pieces)]
        back = exchange.all_to_all_single(torch.empty_like(tokens), torch.cat(ready), sent, received, group=group)
        return tokens + torch.empty_like(back).index_copy(0, order, back) * weight.unsqueeze(1)


model = torch.nn.Sequential(Experts(), torch.nn.Linear(WIDTH, WIDTH), Experts()).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(8):
    model(torch.randn(TOKENS, WIDTH, device=device)).square().mean().backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=mesh["dp"].get_group() if ".own." in name else None)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
