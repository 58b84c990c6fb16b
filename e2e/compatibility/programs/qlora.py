"""PEFT and bitsandbytes: LoRA on a small Llama whose weights are kept in 4 bits (NF4), with an optimizer of 8 bits."""

import bitsandbytes
import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def in_four_bits(module):
    """The module with its linear layers but the last one replaced; they are quantized when they move to the GPU."""
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Linear) and name != "lm_head":
            layer = bitsandbytes.nn.Linear4bit(
                child.in_features,
                child.out_features,
                bias=child.bias is not None,
                compute_dtype=torch.bfloat16,
                quant_type="nf4",
            )
            layer.load_state_dict(child.state_dict())
            setattr(module, name, layer)
        else:
            in_four_bits(child)
    return module


def main():
    config = LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    model = in_four_bits(LlamaForCausalLM(config).to(torch.bfloat16)).to("cuda")
    adapter = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, adapter)
    optimizer = bitsandbytes.optim.AdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for step in range(8):
        tokens = torch.randint(1000, (4, 128), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


main()
