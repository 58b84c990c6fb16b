"""Hugging Face Trainer: a small Llama of random weights, data parallel over all ranks (DDP), with gradient clipping."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        words = (torch.arange(256) * (index + 1)) % 4096
        return {"input_ids": words, "labels": words}


config = LlamaConfig(
    vocab_size=4096,
    hidden_size=512,
    intermediate_size=1024,
    num_hidden_layers=4,
    num_attention_heads=8,
    num_key_value_heads=8,
)
arguments = TrainingArguments(
    output_dir="trained",
    per_device_train_batch_size=4,
    max_steps=12,
    bf16=True,
    logging_steps=4,
    save_strategy="no",
    report_to=[],
    max_grad_norm=1.0,
)
Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=Words()).train()
