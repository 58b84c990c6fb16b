"""torch.distributed.pipelining (1F1B) of some linear layers in STAGES stages, each stage data parallel with DDP.

pipeline.py STAGES
"""

import os
import sys

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.parallel import DistributedDataParallel

stages = int(sys.argv[1])
WIDTH, ROWS, MICROBATCHES = 2048, 1024, 8
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
torch.distributed.init_process_group("nccl", device_id=device)
mesh = init_device_mesh("cuda", (stages, torch.distributed.get_world_size() // stages), mesh_dim_names=("pp", "dp"))
stage = mesh["pp"].get_local_rank()
part = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))).to(device)
part = DistributedDataParallel(part, process_group=mesh["dp"].get_group())
optimizer = torch.optim.AdamW(part.parameters())
pipeline = Schedule1F1B(
    PipelineStage(part, stage, stages, device, group=mesh["pp"].get_group()),
    n_microbatches=MICROBATCHES,
    loss_fn=lambda output, target: (output - target).square().mean(),
)
batch, target = torch.randn(ROWS, WIDTH, device=device), torch.randn(ROWS, WIDTH, device=device)
for step in range(10):
    optimizer.zero_grad()
    if stage == 0:
        pipeline.step(batch)
    elif stage == stages - 1:
        pipeline.step(target=target)
    else:
        pipeline.step()
    optimizer.step()
    print(f"step {step}", flush=True)
torch.distributed.destroy_process_group()
