"""Makes what TorchTitan's debug configuration reads from its checkout: a tokenizer and a text."""
import json
import pathlib

from tokenizers import Tokenizer, models, pre_tokenizers

tokenizer_folder = pathlib.Path("tests/assets/tokenizer")
tokenizer_folder.mkdir(parents=True)
special = ["<|begin_of_text|>", "<|end_of_text|>"]
vocabulary = {word: i for i, word in enumerate(["<unk>", *(f"w{i}" for i in range(1998))])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.add_special_tokens(special)
tokenizer.save(str(tokenizer_folder / "tokenizer.json"))
(tokenizer_folder / "tokenizer_config.json").write_text(json.dumps(
    {"bos_token": special[0], "eos_token": special[1], "tokenizer_class": "PreTrainedTokenizerFast"}))

text_folder = pathlib.Path("tests/assets/c4_test")
text_folder.mkdir(parents=True)
with open(text_folder / "data.json", "w") as out:
    for document in range(200):
        words = " ".join(f"w{(document * 7919 + i * 104729) % 1998}" for i in range(1500))
        out.write(json.dumps({"text": words}) + "\n")
