"""Megatron-core GPT with tensor parallelism 2, local layers, mock tokens."""
import os

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
model_parallel_cuda_manual_seed(7)
config = TransformerConfig(num_layers=4, hidden_size=512, num_attention_heads=8, use_cpu_initialization=True,
                           pipeline_dtype=torch.bfloat16, params_dtype=torch.bfloat16, bf16=True)
model = GPTModel(config=config, transformer_layer_spec=get_gpt_layer_local_spec(), vocab_size=4096,
                 max_sequence_length=512).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
positions = torch.arange(512, device="cuda").unsqueeze(0).expand(4, -1)
mask = torch.ones(4, 1, 512, 512, dtype=torch.bool, device="cuda").triu(1)
for step in range(10):
    tokens = torch.randint(4096, (4, 512)).cuda()
    loss = model(tokens, positions, mask, labels=tokens).float().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
parallel_state.destroy_model_parallel()
torch.distributed.destroy_process_group()
