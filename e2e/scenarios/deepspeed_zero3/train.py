"""DeepSpeed ZeRO-3 with bf16."""
import os

import deepspeed
import torch
import torch.nn as nn

config = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 1000},
    "gradient_clipping": 1.0,
    "steps_per_print": 1000000,
}
deepspeed.init_distributed("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = [nn.Sequential(nn.LayerNorm(1024), nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
                 for _ in range(4)]
        self.layers = nn.ModuleList(layer)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


engine, _, _, _ = deepspeed.initialize(model=Net(), config=config)
for step in range(10):
    x = torch.randn(4, 256, 1024, device="cuda", dtype=torch.bfloat16)
    loss = engine(x).float().square().mean()
    engine.backward(loss)
    engine.step()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
torch.distributed.destroy_process_group()
