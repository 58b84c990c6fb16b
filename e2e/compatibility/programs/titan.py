"""TorchTitan's own trainer with one of its small configurations: makes what that reads, and goes on as torchtitan.train."""

import json
import os
import pathlib
import runpy
import sys
import tempfile

from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = 1998


def prepare():
    """The tokenizer and the text that are in its checkout, with words made here."""
    folder = pathlib.Path("tests/assets/tokenizer")
    folder.mkdir(parents=True, exist_ok=True)
    special = ["<|begin_of_text|>", "<|end_of_text|>"]
    vocabulary = {word: i for i, word in enumerate(["<unk>", *(f"w{i}" for i in range(WORDS))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {"bos_token": special[0], "eos_token": special[1], "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    texts = pathlib.Path("tests/assets/c4_test")
    texts.mkdir(parents=True, exist_ok=True)
    with open(texts / "data.json", "w") as out:
        for document in range(100):
            words = " ".join(f"w{(document * 7919 + i * 104729) % WORDS}" for i in range(1500))
            out.write(json.dumps({"text": words}) + "\n")


def main():
    folder = os.path.join(tempfile.gettempdir(), f"titan-{os.environ.get('LOCAL_RANK', '0')}")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    prepare()
    sys.argv[0] = "torchtitan.train"
    runpy.run_module("torchtitan.train", run_name="__main__", alter_sys=True)


main()
