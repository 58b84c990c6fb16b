"""Tests of commands.py: which commands it finds on a page, and what it refuses."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import commands
import elsewhere
import pages
import sentences


class PagesTest(unittest.TestCase):
    def found(self, text):
        blocks = [block for block in pages.blocks(text) if block.is_shell()]
        return [command for block in blocks for command in pages.commands(block)]

    def test_finds_commands_of_fenced_and_indented_blocks_and_of_lists(self):
        text = "a\n\n```bash\none\n```\n\n    eidolon two\n\n- c\n\n  ```sh\n  three\n  ```\n~~~zsh\nfour\n~~~\n"
        self.assertEqual(self.found(text), ["one", "eidolon two", "three", "four"])

    def test_leaves_out_what_a_prompt_does_not_stand_before(self):
        self.assertEqual(
            self.found("```console\n$ eidolon get \\\n  -l a\nNAME  PHASE\n```\n"), ["eidolon get \\\n  -l a"]
        )

    def test_keeps_the_lines_of_one_command_together(self):
        text = "```bash\n# first\napply <<END\nkind: a\nEND\nfor i in 1 2; do\n  echo $i\ndone\n\nlast\n```\n"
        self.assertEqual(self.found(text), ["apply <<END\nkind: a\nEND", "for i in 1 2; do\n  echo $i\ndone", "last"])

    def test_names_a_command_without_its_comment(self):
        self.assertEqual(pages.name_of("./e2e/test --quick     # some"), "e2e/test --quick")
        self.assertEqual(pages.name_of("apply <<END\nkind: a\nEND"), "apply <<END")

    def test_other_languages_hold_no_commands(self):
        self.assertEqual(self.found("```yaml\ncommand: [eidolon]\n```\n```\nrank --> agent\n```\n"), [])


class CheckTest(unittest.TestCase):
    """A tree of one page and its table."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()

    def read(self, page, table="{}"):
        (self.root / "docs/page.md").write_text(page)
        (self.root / "tested.yaml").write_text(table)
        return commands.read(self.root, self.root / "tested.yaml")

    def wrong(self, page, table="{}"):
        return "\n".join(self.read(page, table)[1])

    def test_a_new_command_is_run_and_fails_with_its_page(self):
        found, wrong = self.read("```bash\ntrue\nno-such-program --new\ntrue\n```\n")
        self.assertEqual(wrong, [])
        problem = commands.run_page(found[0], self.root, "/usr")
        self.assertIn("'no-such-program --new' ended with 127", problem)

    def test_commands_of_a_page_share_a_folder_and_a_shell_and_see_its_files(self):
        page = '```yaml title="job.yaml"\nkind: a\n```\n```bash\nexport A=kind\n```\n'
        page += "```bash\ngrep $A job.yaml > b.txt\n```\n"
        self.assertEqual(commands.run_page(self.read(page)[0][0], self.root, "/usr"), "")

    def test_a_file_that_a_command_should_write_is_looked_for(self):
        found, _ = self.read("```bash\ntrue --html report.html\n```\n")
        self.assertIn("wrote no report.html", commands.run_page(found[0], self.root, "/usr"))
        found, _ = self.read('```text title="report.html"\nof before\n```\n```bash\ntrue --html report.html\n```\n')
        self.assertIn("wrote no report.html", commands.run_page(found[0], self.root, "/usr"))

    def test_what_runs_instead_is_run(self):
        table = "docs/page.md: {instead: {'false': {run: 'true', why: because}}}"
        found, _ = self.read("```bash\nfalse\n```\n", table)
        self.assertEqual(commands.run_page(found[0], self.root, "/usr"), "")

    def test_lines_of_the_table_that_nothing_needs_any_more_fail(self):
        page = "```bash\ntrue\n```\n"
        self.assertIn(
            "the page does not have 'gone'", self.wrong(page, "docs/page.md: {elsewhere: {gone: {part: docs}}}")
        )
        self.assertIn("no page docs/gone.md", self.wrong(page, "docs/gone.md: {}"))
        self.assertIn("no file nowhere.py", self.wrong(page, "docs/page.md: {files: {train.py: nowhere.py}}"))

    def test_commands_do_not_hide_in_blocks_that_say_nothing_of_themselves(self):
        self.assertIn("begin it with ```bash", self.wrong("```\neidolon get\n```\n"))
        self.assertIn("no rule for blocks of 'terminal'", self.wrong("```terminal\neidolon get\n```\n"))
        self.assertIn("no whole command: for a in", self.wrong("```bash\nfor a in 1; do\n```\n"))

    def test_a_reason_is_asked_for(self):
        table = "docs/page.md: {instead: {eidolon get: {run: 'true', why: ''}}}"
        self.assertIn("'run' and 'why'", self.wrong("```bash\neidolon get\n```\n", table))


class ElsewhereTest(unittest.TestCase):
    def problem(self, command, **what):
        return elsewhere.problem_of("docs/page.md", command, what, {}) or ""

    def test_what_is_said_of_a_part_is_compared_with_its_words(self):
        self.assertEqual(self.problem("e2e/test", part="all", **{"as": "e2e/test"}), "")
        self.assertIn("say why", self.problem("e2e/test --all", part="all", **{"as": "e2e/test"}))
        self.assertIn("no part gone", self.problem("a", part="gone"))
        self.assertIn("runs 'e2e/kube/run --in-ci'", self.problem("a", part="kube", **{"as": "a"}))
        self.assertIn("'as' or 'reads' is missing", self.problem("a", part="kube"))

    def test_a_file_holds_all_words_in_their_order_or_names_the_page(self):
        bench = {"part": "test-release", "file": "services/cli/bench/test_bench.py", "why": "b"}
        self.assertEqual(self.problem("a", **bench, **{"as": "eidolon bench --quick"}), "")
        self.assertIn("does not hold", self.problem("a", **bench, **{"as": "eidolon bench"}))
        self.assertIn("does not hold", self.problem("a", **bench, **{"as": "eidolon --quick bench"}))
        self.assertIn("does not read docs/page.md", self.problem("a", part="kube", reads="e2e/kube/claims.py"))

    def test_steps_minutes_and_other_pages_are_looked_up(self):
        self.assertIn("no step gone", self.problem("a", part="kube", step="gone", reads="e2e/kube/claims.py"))
        self.assertIn("ten minutes", self.problem("e2e/test", minutes=5, why="b", **{"as": "e2e/test"}))
        self.assertIn("no program e2e/gone", self.problem("e2e/gone", minutes=50, why="b", **{"as": "e2e/gone"}))
        self.assertIn("no other page", self.problem("a", same="README.md"))


class SentencesTest(unittest.TestCase):
    TREE = {"eidolon": ({"net", "run"}, {"--server", "-n"}), "eidolon net": ({"flows"}, set()),
            "eidolon net flows": (set(), set()), "eidolon run": (set(), {"--gpu"})}  # fmt: skip

    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "page.md").write_text(text)
            return list(sentences.problems_of(pathlib.Path(folder) / "page.md", self.TREE, elsewhere.ROOT))

    def test_flags_and_commands_of_sentences_are_looked_up(self):
        self.assertEqual(
            self.problems("`eidolon run --gpu NAME -- torchrun --x` and `eidolon -n A net flows FILE`"), []
        )
        self.assertEqual(self.problems("`eidolon run --gpus 8`"), ["`eidolon run --gpus 8`: eidolon run has no --gpus"])
        self.assertEqual(self.problems("`eidolon net flow`"), ["`eidolon net flow`: eidolon net has no command flow"])

    def test_programs_of_sentences_are_there(self):
        self.assertEqual(self.problems("`e2e/test --quick`, `e2e/scenarios/<name>/`"), [])
        self.assertEqual(self.problems("`e2e/gone --quick`"), ["`e2e/gone --quick`: no e2e/gone"])

    def test_blocks_are_not_sentences(self):
        self.assertEqual(self.problems("```bash\neidolon run `eidolon gone`\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
