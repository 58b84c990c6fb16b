"""A small Llama, trained by transformers' Trainer, TRL, bitsandbytes or Liger, as the argument says."""

import sys
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

OPTIONS = {"per_device_train_batch_size": 4, "logging_steps": 1, "report_to": "none"}


def llama(words=1000):
    config = LlamaConfig(
        vocab_size=words, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    return LlamaForCausalLM(config)


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(1000, (128,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def trainer(folder):
    """Evaluation and a checkpoint between the steps of a Trainer."""
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        folder, max_steps=10, eval_strategy="steps", eval_steps=5, save_steps=5, bf16=True, **OPTIONS
    )
    Trainer(llama(), arguments, train_dataset=Tokens(), eval_dataset=Tokens()).train()


def tokenizer_of(texts):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<eos>"]))
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>")


def sft(folder):
    """TRL: supervised fine-tuning on a data set of text."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    texts = [f"the number after {i} is {i + 1} and the number before it is {i - 1}" for i in range(64)]
    tokenizer = tokenizer_of(texts)
    SFTTrainer(
        llama(len(tokenizer)),
        args=SFTConfig(folder, max_steps=8, save_strategy="no", **OPTIONS),
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tokenizer,
    ).train()


def dpo(folder):
    """TRL: direct preference optimization."""
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    pairs = {
        "prompt": [f"what comes after {i}" for i in range(64)],
        "chosen": [f"it is {i + 1}" for i in range(64)],
        "rejected": [f"it is {i - 1}" for i in range(64)],
    }
    tokenizer = tokenizer_of([text for column in pairs.values() for text in column])
    DPOTrainer(
        llama(len(tokenizer)),
        ref_model=llama(len(tokenizer)),
        args=DPOConfig(folder, max_steps=6, save_strategy="no", **OPTIONS),
        train_dataset=Dataset.from_dict(pairs),
        processing_class=tokenizer,
    ).train()


def train(model, optimizer, steps, sequences):
    for step in range(steps):
        tokens = torch.randint(1000, (sequences, 128), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


def in_four_bits(module):
    """The module with its linear layers but the last one replaced; they are quantized when they move to the GPU."""
    import bitsandbytes

    options = {"compute_dtype": torch.bfloat16, "quant_type": "nf4"}
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Linear) and name != "lm_head":
            bias = child.bias is not None
            layer = bitsandbytes.nn.Linear4bit(child.in_features, child.out_features, bias=bias, **options)
            layer.load_state_dict(child.state_dict())
            setattr(module, name, layer)
        else:
            in_four_bits(child)
    return module


def qlora(_):
    """LoRA on weights of 4 bits, with bitsandbytes' AdamW of 8 bits."""
    import bitsandbytes
    import peft

    adapter = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(in_four_bits(llama().to(torch.bfloat16)).to("cuda"), adapter)
    optimizer = bitsandbytes.optim.AdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    train(model, optimizer, steps=8, sequences=4)


def liger(_):
    """Liger's Triton kernels in the place of transformers' layers and loss."""
    from liger_kernel.transformers import apply_liger_kernel_to_llama

    apply_liger_kernel_to_llama()
    model = llama().to("cuda", torch.bfloat16)
    train(model, torch.optim.AdamW(model.parameters(), lr=1e-4), steps=6, sequences=2)


KINDS = {"trainer": trainer, "sft": sft, "dpo": dpo, "qlora": qlora, "liger": liger}
with tempfile.TemporaryDirectory() as folder:
    KINDS[sys.argv[1]](folder)
