"""TRL: direct preference optimization of a small Llama, with a tokenizer made here."""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

PAIRS = {
    "prompt": [f"what comes after {i}" for i in range(64)],
    "chosen": [f"it is {i + 1}" for i in range(64)],
    "rejected": [f"it is {i - 1}" for i in range(64)],
}


def main():
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [text for column in PAIRS.values() for text in column]
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<eos>"]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = DPOConfig(
            folder, max_steps=6, per_device_train_batch_size=4, logging_steps=1, save_strategy="no", report_to="none"
        )
        DPOTrainer(
            LlamaForCausalLM(config),
            ref_model=LlamaForCausalLM(config),
            args=arguments,
            train_dataset=Dataset.from_dict(PAIRS),
            processing_class=tokenizer,
        ).train()


main()
