"""DeepSpeed: ZeRO 1 and 2, ZeRO 3 with optimizer and weights offloaded to the host, and a pipeline of two stages."""

import os
import sys

import deepspeed
import torch
from deepspeed.pipe import PipelineModule

STAGES = {
    "zero1": {"stage": 1},
    "zero2": {"stage": 2},
    "offload": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}},
    "pipeline": {"stage": 0},
}


def layers():
    return [torch.nn.Linear(256, 256) for _ in range(4)]


def pairs():
    while True:
        yield torch.randn(4, 256, dtype=torch.bfloat16), torch.randn(4, 256, dtype=torch.bfloat16)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed("nccl")
    kind = sys.argv[1]
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2 if kind == "pipeline" else 1,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
        "bf16": {"enabled": True},
        "zero_optimization": STAGES[kind],
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    if kind == "pipeline":
        model = PipelineModule(
            layers(), num_stages=2, loss_fn=lambda got, wanted: (got - wanted).float().square().mean()
        )
    else:
        model = torch.nn.Sequential(*layers())
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=model.parameters())
    data = pairs()
    for step in range(6):
        if kind == "pipeline":
            loss = engine.train_batch(data)
        else:
            x, wanted = (tensor.cuda() for tensor in next(data))
            loss = (engine(x) - wanted).float().square().mean()
            engine.backward(loss)
            engine.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    torch.distributed.destroy_process_group()


main()
