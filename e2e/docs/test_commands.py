"""Tests of commands.py: which commands it finds on a page, and what it refuses."""

import commands
import elsewhere
import pages
import pytest
import sentences


class TestPages:
    def found(self, text):
        blocks = [block for block in pages.blocks(text) if block.is_shell()]
        return [command for block in blocks for command in pages.commands(block)]

    def test_finds_commands_of_fenced_and_indented_blocks_and_of_lists(self):
        text = "a\n\n```bash\none\n```\n\n    eidolon two\n\n- c\n\n  ```sh\n  three\n  ```\n~~~zsh\nfour\n~~~\n"
        assert self.found(text) == ["one", "eidolon two", "three", "four"]

    def test_leaves_out_what_a_prompt_does_not_stand_before(self):
        assert self.found("```console\n$ eidolon get \\\n  -l a\nNAME  PHASE\n```\n") == ["eidolon get \\\n  -l a"]

    def test_keeps_the_lines_of_one_command_together(self):
        text = "```bash\n# first\napply <<END\nkind: a\nEND\nfor i in 1 2; do\n  echo $i\ndone\n\nlast\n```\n"
        assert self.found(text) == ["apply <<END\nkind: a\nEND", "for i in 1 2; do\n  echo $i\ndone", "last"]

    def test_names_a_command_without_its_comment(self):
        assert pages.name_of("./e2e/test --quick     # some") == "e2e/test --quick"
        assert pages.name_of("apply <<END\nkind: a\nEND") == "apply <<END"

    def test_other_languages_hold_no_commands(self):
        assert self.found("```yaml\ncommand: [eidolon]\n```\n```\nrank --> agent\n```\n") == []


class TestCheck:
    """A tree of one page and its table."""

    @pytest.fixture(autouse=True)
    def tree(self, tmp_path):
        self.root = tmp_path
        (tmp_path / "docs").mkdir()

    def read(self, page, table="{}"):
        (self.root / "docs/page.md").write_text(page)
        (self.root / "tested.yaml").write_text(table)
        return commands.read(self.root, self.root / "tested.yaml")

    def wrong(self, page, table="{}"):
        return "\n".join(self.read(page, table)[1])

    def test_a_new_command_is_run_and_fails_with_its_page(self):
        found, wrong = self.read("```bash\ntrue\nno-such-program --new\ntrue\n```\n")
        assert wrong == []
        problem = commands.run_page(found[0], self.root, "/usr")
        assert "'no-such-program --new' ended with 127" in problem

    def test_commands_of_a_page_share_a_folder_and_a_shell_and_see_its_files(self):
        page = '```yaml title="job.yaml"\nkind: a\n```\n```bash\nexport A=kind\n```\n'
        page += "```bash\ngrep $A job.yaml > b.txt\n```\n"
        assert commands.run_page(self.read(page)[0][0], self.root, "/usr") == ""

    def test_a_file_that_a_command_should_write_is_looked_for(self):
        found, _ = self.read("```bash\ntrue --html report.html\n```\n")
        assert "wrote no report.html" in commands.run_page(found[0], self.root, "/usr")
        found, _ = self.read('```text title="report.html"\nof before\n```\n```bash\ntrue --html report.html\n```\n')
        assert "wrote no report.html" in commands.run_page(found[0], self.root, "/usr")

    def test_output_that_a_page_shows_must_be_printed_but_for_its_numbers(self):
        page = "```console\n$ echo '\x1b[1mstep   12.5 ms\x1b[0m, 3 ranks'\nstep 8 ms, 16 ranks\n...\n```\n"
        assert commands.run_page(self.read(page)[0][0], self.root, "/usr") == ""
        found, _ = self.read(page.replace("step 8 ms", "iteration 8 ms"))
        problem = commands.run_page(found[0], self.root, "/usr")
        assert "no command printed: 'iteration 8 ms, 16 ranks'" in problem

    def test_what_runs_instead_is_run(self):
        table = "docs/page.md: {instead: {'false': {run: 'true', why: because}}}"
        found, _ = self.read("```bash\nfalse\n```\n", table)
        assert commands.run_page(found[0], self.root, "/usr") == ""

    def test_lines_of_the_table_that_nothing_needs_any_more_fail(self):
        page = "```bash\ntrue\n```\n"
        assert "the page does not have 'gone'" in self.wrong(page, "docs/page.md: {elsewhere: {gone: {part: docs}}}")
        assert "no page docs/gone.md" in self.wrong(page, "docs/gone.md: {}")
        assert "no file nowhere.py" in self.wrong(page, "docs/page.md: {files: {train.py: nowhere.py}}")

    def test_commands_do_not_hide_in_blocks_that_say_nothing_of_themselves(self):
        assert "begin it with ```bash" in self.wrong("```\neidolon get\n```\n")
        assert "no rule for blocks of 'terminal'" in self.wrong("```terminal\neidolon get\n```\n")
        assert "no whole command: for a in" in self.wrong("```bash\nfor a in 1; do\n```\n")

    def test_a_reason_is_asked_for(self):
        table = "docs/page.md: {instead: {eidolon get: {run: 'true', why: ''}}}"
        assert "'run' and 'why'" in self.wrong("```bash\neidolon get\n```\n", table)


class TestElsewhere:
    def problem(self, command, **what):
        return elsewhere.problem_of("docs/page.md", command, what, {}) or ""

    def test_what_is_said_of_a_part_is_compared_with_its_words(self):
        assert self.problem("e2e/test", part="all", **{"as": "e2e/test"}) == ""
        assert "say why" in self.problem("e2e/test --all", part="all", **{"as": "e2e/test"})
        assert "no part gone" in self.problem("a", part="gone")
        assert "runs 'e2e/kube/run --in-ci'" in self.problem("a", part="kube", **{"as": "a"})
        assert "'as' or 'reads' is missing" in self.problem("a", part="kube")

    def test_a_file_holds_all_words_in_their_order_or_names_the_page(self):
        bench = {"part": "test-release", "file": "services/cli/bench/test_bench.py", "why": "b"}
        assert self.problem("a", **bench, **{"as": "eidolon bench --quick"}) == ""
        assert "does not hold" in self.problem("a", **bench, **{"as": "eidolon bench"})
        assert "does not hold" in self.problem("a", **bench, **{"as": "eidolon --quick bench"})
        assert "does not read docs/page.md" in self.problem("a", part="kube", reads="e2e/kube/claims.py")

    def test_steps_minutes_and_other_pages_are_looked_up(self):
        assert "no step gone" in self.problem("a", part="kube", step="gone", reads="e2e/kube/claims.py")
        assert "ten minutes" in self.problem("e2e/test", minutes=5, why="b", **{"as": "e2e/test"})
        assert "no program e2e/gone" in self.problem("e2e/gone", minutes=50, why="b", **{"as": "e2e/gone"})
        assert "no other page" in self.problem("a", same="README.md")


TREE = {"eidolon": ({"net", "run"}, {"--server", "-n"}), "eidolon net": ({"flows"}, set()),
        "eidolon net flows": (set(), set()), "eidolon run": (set(), {"--gpu"})}  # fmt: skip


@pytest.fixture
def problems(tmp_path):
    """Returns what is wrong with a page of that text."""

    def problems_of(text):
        (tmp_path / "page.md").write_text(text)
        return list(sentences.problems_of(tmp_path / "page.md", TREE, elsewhere.ROOT))

    return problems_of


def test_flags_and_commands_of_sentences_are_looked_up(problems):
    assert problems("`eidolon run --gpu NAME -- torchrun --x` and `eidolon -n A net flows FILE`") == []
    assert problems("`eidolon run --gpus 8`") == ["`eidolon run --gpus 8`: eidolon run has no --gpus"]
    assert problems("`eidolon net flow`") == ["`eidolon net flow`: eidolon net has no command flow"]


def test_programs_of_sentences_are_there(problems):
    assert problems("`e2e/test --quick`, `e2e/scenarios/<name>/`") == []
    assert problems("`e2e/gone --quick`") == ["`e2e/gone --quick`: no e2e/gone"]


def test_blocks_are_not_sentences(problems):
    assert problems("```bash\neidolon run `eidolon gone`\n```\n") == []
