"""TorchTitan: its Qwen 3 with a mixture of experts, the debug configuration, experts divided among two ranks.

Flex attention is compiled without tuning, which takes longer than the training. Where tokens go is declared by the job
(values.expertRouting): the router's weights are not known here.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

# This version of Triton refuses kernels of torchao 0.18; TorchTitan does without.
sys.modules["torchao"] = None

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.nn.attention.flex_attention import flex_attention
from torchtitan import train
from torchtitan.models.common.attention import FlexAttention

FLAGS = {
    "--training.steps": 6,
    "--training.local_batch_size": 2,
    "--training.seq_len": 512,
    "--parallelism.expert_parallel_degree": 2,
}
WORDS = 1998


def write_tokenizer(folder):
    folder.mkdir(parents=True)
    special = ["<|begin_of_text|>", "<|end_of_text|>"]
    vocabulary = {word: i for i, word in enumerate(["<unk>", *(f"w{i}" for i in range(WORDS))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos_token": special[0], "eos_token": special[1], "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names), encoding="utf-8")


def write_text(folder):
    folder.mkdir(parents=True)
    with open(folder / "data.json", "w", encoding="utf-8") as out:
        for document in range(200):
            words = " ".join(f"w{(document * 7919 + i * 104729) % WORDS}" for i in range(1500))
            out.write(json.dumps({"text": words}) + "\n")


def main():
    options = {**FlexAttention.inductor_configs, "max_autotune": False, "coordinate_descent_tuning": False}
    FlexAttention._compiled_flex_attn = torch.compile(flex_attention, options=options)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tokenizer(Path("tests/assets/tokenizer"))
        write_text(Path("tests/assets/c4_test"))
        flags = [word for name, value in FLAGS.items() for word in (name, str(value))]
        switches = ["--checkpoint.no-enable", "--training.disable_cuda_graphs"]
        sys.argv += ["--module", "qwen3", "--config", "qwen3_moe_debug", *flags, *switches]
        train.main()
        os.chdir("/")


main()
