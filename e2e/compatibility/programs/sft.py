"""TRL: supervised fine-tuning of a small Llama on a data set of text, with a tokenizer made here."""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

TEXTS = [f"the number after {i} is {i + 1} and the number before it is {i - 1}" for i in range(64)]


def main():
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(TEXTS, trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<eos>"]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(
            folder, max_steps=8, per_device_train_batch_size=4, logging_steps=1, save_strategy="no", report_to="none"
        )
        SFTTrainer(
            LlamaForCausalLM(config),
            args=arguments,
            train_dataset=Dataset.from_dict({"text": TEXTS}),
            processing_class=tokenizer,
        ).train()


main()
