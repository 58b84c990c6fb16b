"""Tests of e2e/fuzz with a fuzzer that stands for libFuzzer's."""

import pathlib
import re
import subprocess
import sys

import pytest

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
# Finds an input for each of its first 100 runs, every tenth of them large; merging takes what fits, as if each reached
# something new. `break` in its corpus breaks it.
FAKE = """#!{python}
import pathlib, shutil, sys
flags = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
folders = [pathlib.Path(word) for word in sys.argv[1:] if not word.startswith("-")]
merge = "merge" in flags or "set_cover_merge" in flags
if merge:
    for path in sorted(folders[1].iterdir()):
        if path.stat().st_size <= int(flags.get("max_len", 1 << 20)):
            shutil.copy(path, folders[0])
    sys.exit(0)
print("INFO: Seed:", flags["seed"])
for number in range(100):
    size = 5000 if number % 10 == 0 else 10 + number
    (folders[0] / f"{{flags['seed']}}-{{number:03}}").write_bytes(b"x" * size)
if any((folder / "break").exists() for folder in folders[1:]):
    print("Test unit written to " + flags["artifact_prefix"] + "crash-1")
    sys.exit(77)
print("#100 DONE cov: 12 ft: 3\\nstat::number_of_executed_units: 100")
"""


class Fuzz:
    """A build with that fuzzer, and a tree that may have a corpus for it."""

    def __init__(self, folder):
        self.folder, self.corpus = folder, folder / "tree/one_fuzz_corpus"
        self.corpus.parent.mkdir()
        (folder / "fuzz").mkdir()
        program = folder / "fuzz/one_fuzz"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)
        (folder / "fuzz/one_fuzz.corpus").write_text(f"{self.corpus}\n")

    def run(self, *arguments, status=0):
        command = [sys.executable, "-B", FUZZ, "--build", self.folder, "--seconds", "1", *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == status, done.stdout
        return done.stdout

    def seed_of(self, text):
        found = sorted((self.folder / "fuzz/one_fuzz.found").iterdir())[0].name.split("-")[0]
        assert f"seed {found}" in text
        return found


@pytest.fixture
def fuzz(tmp_path):
    return Fuzz(tmp_path)


def test_every_run_has_another_seed_and_prints_it(fuzz):
    seeds = {fuzz.seed_of(fuzz.run()) for _ in range(3)}

    assert len(seeds) == 3


def test_a_given_seed_is_the_fuzzers(fuzz):
    assert fuzz.seed_of(fuzz.run("--seed", "17")) == "17"


def test_a_seed_that_libfuzzer_would_replace_is_refused(fuzz):
    assert "--seed 0" in fuzz.run("--seed", "0", status=2)


def test_nothing_goes_into_the_tree_unasked(fuzz):
    fuzz.run()

    assert not fuzz.corpus.exists()


def test_a_corpus_grows_up_to_its_bounds(fuzz):
    fuzz.corpus.mkdir()
    (fuzz.corpus / "by_hand").write_bytes(b"y" * 6000)

    text = fuzz.run("--grow")

    inputs = {path.name: path.stat().st_size for path in fuzz.corpus.iterdir()}
    assert "grown: one_fuzz 31" in text
    assert inputs.pop("by_hand") == 6000
    assert len(inputs) == 31
    assert max(inputs.values()) <= 4096
    assert "grown: nothing" in fuzz.run("--grow")


def test_a_broken_target_is_named_with_what_repeats_it(fuzz):
    fuzz.corpus.mkdir()
    (fuzz.corpus / "break").touch()

    text = fuzz.run(status=1)

    assert re.search(r"FAIL one_fuzz status 77, seed \d+", text)
    assert "one_fuzz.crashes/crash-1" in text
    assert re.search(r"^0 passed, 1 failed$", text, re.M), text


def test_a_target_of_another_build_is_named(fuzz):
    assert "no fuzzer two_fuzz" in fuzz.run("--only", "two_fuzz", status=1)
