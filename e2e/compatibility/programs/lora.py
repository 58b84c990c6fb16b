"""PEFT: LoRA on a small Llama, trained by transformers' Trainer."""

import tempfile

import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(1000, (128,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def main():
    config = LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    adapter = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(LlamaForCausalLM(config), adapter)
    model.print_trainable_parameters()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, max_steps=8, per_device_train_batch_size=4, logging_steps=1, save_strategy="no", report_to="none"
        )
        Trainer(model, arguments, train_dataset=Tokens()).train()


main()
