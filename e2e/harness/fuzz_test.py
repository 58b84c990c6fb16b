#!/usr/bin/env python3
"""Tests of e2e/fuzz with a fuzzer that stands for libFuzzer's."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

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


class FuzzTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.corpus = self.folder / "tree/one_fuzz_corpus"
        self.corpus.parent.mkdir()
        (self.folder / "fuzz").mkdir()
        program = self.folder / "fuzz/one_fuzz"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)
        (self.folder / "fuzz/one_fuzz.corpus").write_text(f"{self.corpus}\n")

    def run_fuzz(self, *arguments, status=0):
        done = subprocess.run(
            [sys.executable, "-B", FUZZ, "--build", self.folder, "--seconds", "1", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def seed_of(self, text):
        found = sorted((self.folder / "fuzz/one_fuzz.found").iterdir())[0].name.split("-")[0]
        self.assertIn(f"seed {found}", text)
        return found

    def test_every_run_has_another_seed_and_prints_it(self):
        seeds = {self.seed_of(self.run_fuzz()) for _ in range(3)}

        self.assertEqual(len(seeds), 3)

    def test_a_given_seed_is_the_fuzzers(self):
        self.assertEqual(self.seed_of(self.run_fuzz("--seed", "17")), "17")

    def test_a_seed_that_libfuzzer_would_replace_is_refused(self):
        self.assertIn("--seed 0", self.run_fuzz("--seed", "0", status=2))

    def test_nothing_goes_into_the_tree_unasked(self):
        self.run_fuzz()

        self.assertFalse(self.corpus.exists())

    def test_a_corpus_grows_up_to_its_bounds(self):
        self.corpus.mkdir()
        (self.corpus / "by_hand").write_bytes(b"y" * 6000)

        text = self.run_fuzz("--grow")

        inputs = {path.name: path.stat().st_size for path in self.corpus.iterdir()}
        self.assertIn("grown: one_fuzz 31", text)
        self.assertEqual(inputs.pop("by_hand"), 6000)
        self.assertEqual(len(inputs), 31)
        self.assertLessEqual(max(inputs.values()), 4096)
        self.assertIn("grown: nothing", self.run_fuzz("--grow"))

    def test_a_broken_target_is_named_with_what_repeats_it(self):
        self.corpus.mkdir()
        (self.corpus / "break").touch()

        text = self.run_fuzz(status=1)

        self.assertRegex(text, r"FAIL one_fuzz status 77, seed \d+")
        self.assertIn("one_fuzz.crashes/crash-1", text)
        self.assertTrue(re.search(r"^0 passed, 1 failed$", text, re.M), text)

    def test_a_target_of_another_build_is_named(self):
        self.assertIn("no fuzzer two_fuzz", self.run_fuzz("--only", "two_fuzz", status=1))


if __name__ == "__main__":
    unittest.main()
