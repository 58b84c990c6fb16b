"""Tests which parts run, and how much of each."""

import pytest

from runner.change import Change
from runner.parts import all_parts, provisions
from runner.selection import affected, for_programs, select
from sampling import group_of

PARTS = all_parts()
NAMES = [part.name for part in PARTS]
STYLE = {"format", "python", "layers", "tidy", "vocabulary", "reading"}


def changed(*paths, groups=frozenset({1})):
    change = Change(paths=frozenset(paths), groups=groups)
    return Change(paths=change.paths, groups=frozenset()) if change.only_documents else change


def chosen(*paths, groups=frozenset({1}), **more):
    change = changed(*paths, groups=groups)
    return select(PARTS, dict.fromkeys(NAMES, change), **more)


def wholes(choices):
    return {name for name, choice in choices.items() if choice.share == 1 or choice.command[-1:] == ("--in-ci",)}


def test_all_runs_every_part_as_a_whole():
    everything = Change(everything=True)

    choices = select(PARTS, dict.fromkeys(NAMES, everything), every=True)

    assert list(choices) == NAMES
    assert wholes(choices) == set(NAMES)


def test_quick_leaves_out_what_builds_the_tests_again():
    everything = Change(everything=True)

    choices = select(PARTS, dict.fromkeys(NAMES, everything), every=True, quick=True)

    assert set(NAMES) - set(choices) == {"build-asan", "test-asan", "fuzz", "build-tsan", "test-tsan"}


def test_documents_run_what_reads_them_and_no_sample():
    assert set(chosen("README.md", "docs/tutorial/a.md")) == {"docs", "pages", "vocabulary", "reading", "build-release"}


def test_without_a_change_the_sample_runs():
    choices = chosen()

    assert STYLE < set(choices)
    assert choices["behaviour"].words == ("--sample", "1/4")


def test_a_page_with_figures_runs_the_tests_that_compare_it():
    page = "docs/reference/generated/report_fields.md"

    choices = chosen(page)

    assert set(choices) == {"docs", "pages", "vocabulary", "reading", "build-release", "test-release", "page"}
    assert for_programs(changed(page), "test-release")["paths"] == [page]


def test_an_affected_part_runs_as_a_whole_and_others_are_sampled():
    choices = chosen("services/controller/page/app.js")

    assert wholes(choices) >= {"page", "build-release", "headers", *STYLE}
    assert choices["page"].words == ()
    assert choices["page"].why == "services/controller/page/app.js"
    assert choices["behaviour"].share == 0.25
    assert choices["behaviour"].words == ("--sample", "1/4")
    assert "torture" not in choices


def test_tests_of_the_area_run_and_a_sample_of_the_others():
    names = [f"behaviours/test_other.py::test_{number}" for number in range(9)]
    behaviours = dict.fromkeys([*names, "behaviours/test_sweep.py::test_a"], 10.0)
    sampled = [name for name in names if group_of(name) in (0, 2)]

    choices = chosen("services/controller/sweep/points.cc", groups=frozenset({0, 2}), seconds={"behaviour": behaviours})

    words = choices["behaviour"].words
    assert words[:2] == ("--sample", "0,2/4")
    assert [word.rpartition("/")[2] for word in words[3::2]] == ["test_sweep.py"]
    assert set(words[2::2]) == {"--whole"}
    assert choices["behaviour-alone"].words == ("--sample", "0,2/4")
    assert choices["behaviour-alone"].share == 0.5
    assert 0 < len(sampled) < 9
    assert choices["behaviour"].share == pytest.approx((len(sampled) + 1) / 10)


def test_tests_are_also_named_by_their_parameters():
    choices = chosen("shim/vendor/nccl/communicator.cc")

    assert choices["folding"].words == ("--sample", "1/4", "--whole", "[ddp]", "--whole", "[hsdp]", "--whole", "[ring]")


def test_a_changed_file_of_tests_runs_whole():
    words = chosen("e2e/behaviours/test_disk.py")["behaviour"].words

    assert words[-1].endswith("e2e/behaviours/test_disk.py")


def test_changed_pages_are_tried_and_no_other():
    choices = chosen("README.md", "docs/timeline.md")

    assert choices["docs"].words == ("-k", "not commands_of_a_page or README.md or docs/timeline.md")
    assert chosen("README.md", "services/cli/main.cc")["docs"].words == ()


def test_the_cluster_runs_its_short_form_without_a_base_and_a_sample_otherwise():
    everything = Change(everything=True)
    forms = [
        select(PARTS, dict.fromkeys(NAMES, everything), every=True),
        select(PARTS, dict.fromkeys(NAMES, everything)),
        chosen("services/cli/main.cc"),
    ]

    assert [(choices["kube"].command[1:], choices["kube"].words) for choices in forms] == [
        ((), ()),
        (("--in-ci",), ()),
        ((), ("--sample", "1/4")),
    ]


@pytest.mark.parametrize("path", ["pyproject.toml", "helm/eidolon/values.yaml", "services/network/flow/link.cc"])
def test_any_four_groups_run_every_part(path):
    found = set()
    for group in range(4):
        found |= set(chosen(path, groups=frozenset({group})))

    assert found == set(NAMES)


def test_the_second_environment_is_made_only_when_its_tests_are_due():
    def installs(choices):
        return [part.name for part in provisions([part for part in PARTS if part.name in choices])]

    made = [installs(chosen("services/network/flow/link.cc", groups=frozenset({group}))) for group in range(4)]

    assert ["environment cuda12" in one for one in made] == [False, True, False, False]
    assert all("environment torch" in one for one in made)
    assert "environment cuda12" in installs(chosen("shim/vendor/cuda_runtime_12/runtime.cc", groups=frozenset({0})))
    style = [part for part in PARTS if part.name in ("layers", "tidy")]
    assert provisions(style) == style


def test_a_path_without_a_row_runs_everything():
    choices = chosen("novel/a.txt")

    assert wholes(choices) == set(NAMES)
    assert for_programs(changed("novel/a.txt"))["everything"]
    assert affected({"novel/a.txt", "README.md"}).everything == "novel/a.txt"


def test_without_a_base_only_sanitizers_are_sampled():
    everything, newest = Change(everything=True), changed("services/cli/main.cc")

    choices = select(PARTS, {part.name: newest if part.again else everything for part in PARTS})

    assert set(choices) == set(NAMES)
    assert set(NAMES) - wholes(choices) == {"build-asan", "test-asan", "fuzz", "build-tsan", "test-tsan"}


def test_a_part_that_has_not_passed_runs_whole_beside_others_that_have():
    everything, newest = Change(everything=True), changed("services/controller/page/app.js")

    choices = select(PARTS, {name: everything if name == "wheel" else newest for name in NAMES})

    assert choices["wheel"].why == "everything counts as changed"
    assert choices["behaviour"].words == ("--sample", "1/4")


def test_manifests_run_the_scripts_that_check_them_and_no_program():
    change = changed("helm/eidolon/values.yaml")

    known = for_programs(change, "test-release")

    assert known["paths"] == [] and known["scripts"] == ["helm/eidolon/values.yaml"]
    assert chosen("helm/eidolon/values.yaml")["kube"].why == "chart, first_job and a sample"


def test_data_of_unit_tests_does_not_run_sanitizers():
    change = changed("e2e/measured/h100/operators.csv")

    assert for_programs(change, "test-release")["paths"] == ["e2e/measured/h100/operators.csv"]
    assert for_programs(change, "test-asan")["paths"] == []


def test_programs_are_told_which_tests_are_slow():
    seconds = {"test-release": {"A.Slow": 1.5, "A.Quick": 0.2}, "test-asan": {"A.Other": 9}}

    assert for_programs(changed("shim/vendor/nccl/communicator.cc"), "test-release", seconds)["slow"] == ["A.Slow"]


def test_parts_need_parts_that_there_are():
    placed = provisions(PARTS)
    names = {part.name for part in placed}

    assert len(names) == len(placed)
    assert {need for part in placed for need in part.needs} <= names
