"""Tests how .job files are read, compared and written anew."""

import job_files
import pytest

TEXT = "why\n\n=== job\nspec: 1\n\n=== script a.py\nprint(1)\n\n=== expected\nlight  Complete\n  iteration   1 us\n"
REPORT = ["light  Complete", "  on          H100", "  iteration   1 us", "  simulation  3 ms wall"]


def test_a_file_is_its_sections():
    assert job_files.sections_of(TEXT) == {
        "about": "why",
        "job": "spec: 1\n\n",
        "script a.py": "print(1)\n\n",
        "expected": "light  Complete\n  iteration   1 us\n",
    }


@pytest.mark.parametrize(
    "text, message",
    [
        (TEXT.replace("=== job", "=== jobs"), "section 'jobs' is none of"),
        (TEXT.replace("=== job", "=== script b.py"), "section 'job' is missing"),
        (TEXT.replace("why", ""), "says what the test is about"),
        (TEXT + "=== job\n", "stands twice"),
        (TEXT.replace("script a.py", "script ../a.py"), "is none of"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        job_files.sections_of(text)


def test_expected_lines_come_in_their_order_with_others_between():
    assert job_files.missing(["light  Complete", "  iteration   1 us"], REPORT) is None
    assert job_files.missing(["  iteration   1 us", "light  Complete"], REPORT) == "light  Complete"
    assert job_files.missing(["  iteration   2 us"], REPORT) == "  iteration   2 us"
    assert job_files.missing(["  iteration   1 us"] * 2, REPORT) == "  iteration   1 us"


def test_the_beginning_of_a_line_is_enough_where_it_says_so():
    assert job_files.missing(["light ...", "  iteration   1 us"], REPORT) is None
    assert job_files.missing(["light  Failed ..."], REPORT) == "light  Failed ..."
    assert job_files.renewed(["light ...", "  on  H200 ..."], REPORT) == ["light ...", REPORT[1]]


def test_an_update_writes_every_line_that_does_not_tell_of_this_machine():
    assert job_files.renewed([], REPORT) == REPORT[:-1]


def test_an_update_renews_the_lines_that_were_expected_and_no_others():
    assert job_files.renewed(["light  Failed", "  iteration  9 us", "  gone  1"], REPORT) == [REPORT[0], REPORT[2]]


class Server:
    """Takes every job, and reports the lines above."""

    def __init__(self, folder):
        self.build = self.data = folder
        (folder / "bin").mkdir()
        program = folder / "bin" / "eidolon"
        lines = "\n".join(REPORT)
        program.write_text(f"#!/bin/sh\ncase $3 in report) cat <<'END'\n{lines}\nEND\nesac\n")
        program.chmod(0o755)

    def wait(self, name, seconds):
        assert name == "light"


def test_a_file_is_checked_and_renewed(tmp_path):
    file, server = tmp_path / "light.job", Server(tmp_path)

    def check(renew=False):
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        job_files.check(file, server, folder, renew)

    job = TEXT.replace("spec: 1", "metadata: {name: light}")
    file.write_text(job)
    check()
    file.write_text(job.replace("1 us", "2 us"))
    with pytest.raises(AssertionError, match="iteration   2 us"):
        check()
    file.write_text(job.partition("=== expected")[0])
    with pytest.raises(AssertionError, match="nothing is expected of light.job"):
        check()
    check(renew=True)
    assert file.read_text().endswith("print(1)\n\n=== expected\n" + "\n".join(REPORT[:-1]) + "\n")
    check()
