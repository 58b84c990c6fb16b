"""transformers' Trainer: a small Llama, evaluation and a checkpoint between its steps."""

import tempfile

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
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=10,
            per_device_train_batch_size=4,
            eval_strategy="steps",
            eval_steps=5,
            save_steps=5,
            logging_steps=1,
            bf16=True,
            report_to="none",
        )
        Trainer(LlamaForCausalLM(config), arguments, train_dataset=Tokens(), eval_dataset=Tokens()).train()


main()
