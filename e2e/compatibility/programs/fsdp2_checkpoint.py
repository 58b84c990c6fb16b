"""fully_shard, on two dimensions with four ranks, and distributed checkpoints, written at once and behind the training."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def main():
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    ranks = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("cpu:gloo,cuda:nccl")
    shape, names = ((2, ranks // 2), ("replicate", "shard")) if ranks > 2 else ((ranks,), ("shard",))
    mesh = init_device_mesh("cuda", shape, mesh_dim_names=names)
    blocks = [torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(4)]
    model = torch.nn.Sequential(*blocks).to(device)
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model:
        fully_shard(block, mesh=mesh, mp_policy=precision)
    fully_shard(model, mesh=mesh, mp_policy=precision)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    pending = None
    for step in range(8):
        loss = model(torch.randn(4, 128, 256, device=device)).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 3:
            weights, moments = get_state_dict(model, optimizer)
            dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=f"{folder[0]}/whole")
            pending = dcp.async_save({"model": weights, "optimizer": moments}, checkpoint_id=f"{folder[0]}/behind")
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    pending.result()
    for name in ("whole", "behind"):
        weights, moments = get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=f"{folder[0]}/{name}")
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    dist.destroy_process_group()


main()
