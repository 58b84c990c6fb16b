"""torch.distributed.pipelining of some linear layers in STAGES stages, each stage data parallel.

pipeline.py STAGES [SCHEDULE]

SCHEDULE is a name of torch.distributed.pipelining's, 1F1B by default. One stage a rank is wrapped in DDP; schedules of two
stages a rank shard theirs with FSDP2.
"""

import os
import sys

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class
from torch.nn.parallel import DistributedDataParallel

stages = int(sys.argv[1])
schedule = get_schedule_class(sys.argv[2] if len(sys.argv) > 2 else "1F1B")
WIDTH, ROWS, MICROBATCHES = 2048, 1024, 8
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
torch.distributed.init_process_group("nccl", device_id=device)
mesh = init_device_mesh("cuda", (stages, torch.distributed.get_world_size() // stages), mesh_dim_names=("pp", "dp"))
place = mesh["pp"].get_local_rank()
is_multiple = issubclass(schedule, PipelineScheduleMulti)


def make_part():
    part = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))).to(device)
    if not is_multiple:
        return DistributedDataParallel(part, process_group=mesh["dp"].get_group())
    return fully_shard(part, mesh=mesh["dp"], reshard_after_forward=False)


# The numbers of this rank's stages: those of a V go down and come back up.
numbers = [place] if not is_multiple else [place, place + stages]
if "ZBV" in schedule.__name__ or "DualPipeV" in schedule.__name__:
    numbers = [place, 2 * stages - 1 - place]
parts = [make_part() for _ in numbers]
optimizer = torch.optim.AdamW([parameter for part in parts for parameter in part.parameters()])
total = stages * len(numbers)
made = [
    PipelineStage(part, number, total, device, group=mesh["pp"].get_group()) for number, part in zip(numbers, parts)
]
options = {"n_microbatches": MICROBATCHES, "loss_fn": lambda output, target: (output - target).square().mean()}
pipeline = schedule(made if is_multiple else made[0], **options)
batch, target = torch.randn(ROWS, WIDTH, device=device), torch.randn(ROWS, WIDTH, device=device)
for step in range(10):
    optimizer.zero_grad()
    inputs = (batch,) if 0 in numbers else ()
    if total - 1 in numbers:
        pipeline.step(*inputs, target=target)
    else:
        pipeline.step(*inputs)
    optimizer.step()
    print(f"step {step}", flush=True)
torch.distributed.destroy_process_group()
