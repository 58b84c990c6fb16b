"""The table of what a change affects."""

import re
import subprocess

import pytest

from runner.affects import affected_by, documents, is_document, rows
from runner.parts import ROOT, all_parts

PARTS = {part.name: part for part in all_parts()}


def tracked():
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [path for path in done.stdout.split("\0") if path]


def named():
    """(part, word or "") of every row."""
    for _, _, parts in rows():
        for part in parts:
            name, _, words = part.partition(":")
            for word in words.split(","):
                yield name, word


def test_every_tracked_file_is_covered_by_a_row():
    uncovered = [path for path in tracked() if affected_by(path) is None]

    assert not uncovered, "say in e2e/runner/affects.txt what these affect; until then they affect everything"


def test_every_row_is_the_first_for_some_file():
    def first(path):
        return next((globs for globs, pattern, _ in rows() if pattern.fullmatch(path)), None)

    used = set(map(first, tracked()))

    assert [globs for globs, _, _ in rows() if globs not in used] == []


def test_rows_name_parts_that_there_are():
    assert {name for name, _ in named()} - set(PARTS) == {"everything", "scripts"}


def test_words_of_rows_name_tests_that_there_are():
    words = {(name, word) for name, word in named() if word not in ("", "@")}
    files = {name: (ROOT / "e2e" / PARTS[name].suite).rglob("*.py") for name, _ in words}
    texts = {name: "".join(file.read_text() for file in found) for name, found in files.items()}

    def is_there(name, word):
        parameter = f'"{word}"' in texts[name] or (ROOT / "e2e" / PARTS[name].suite / word).is_dir()
        return not PARTS[name].named(word)[0].startswith("[") or parameter

    assert {name for name, _ in words} == {"behaviour", "behaviour-alone", "scenarios", "folding", "kube", "page"}
    assert [(name, word) for name, word in words if not is_there(name, word)] == []


def test_a_change_in_one_room_runs_no_suite_of_jobs_as_a_whole():
    """Every job passes through the agent, the network, the timing service and the shim."""
    rooms = [
        path for path in tracked() if re.match(r"(services/(agent|controller|network|timing|cli)|shim)/.*\.cc$", path)
    ]

    assert len(rooms) > 500
    assert {
        path for path in rooms if {"behaviour", "behaviour-alone", "scenarios", "kube"} & set(affected_by(path))
    } == set()


def test_every_part_is_in_a_row_or_always_runs():
    rows = {name for name, _ in named()}

    assert [name for name, part in PARTS.items() if name not in rows and not part.always] == []


def test_a_path_without_a_row_is_not_known():
    assert affected_by("novel/folder/file.cc") is None
    assert not is_document("novel/folder/file.cc")


@pytest.mark.parametrize("path", ["README.md", "docs/tutorial/first.md", "services/README.md", "CHANGELOG.md"])
def test_documents_affect_only_what_reads_documents(path):
    assert set(affected_by(path)) == documents() == {"docs", "pages", "vocabulary", "reading"}
    assert is_document(path)


@pytest.mark.parametrize(
    "path, some, none",
    [
        (
            "services/controller/page/app.js",
            ["page", "test-release", "test-tsan"],
            ["kube:first_job", "behaviour", "folding"],
        ),
        ("services/agent/ring/reader.cc", ["behaviour:failure", "build-asan"], ["page", "behaviour", "scenarios"]),
        (
            "services/network/flow/link.cc",
            ["behaviour:fabric", "scenarios:ddp", "folding:ring"],
            ["folding", "scenarios"],
        ),
        ("services/contract/ring/layout.h", ["behaviour", "scenarios", "folding", "build-asan"], []),
        ("services/agent/ring/reader_test.cc", ["test-release", "test-asan"], ["behaviour", "scenarios"]),
        (
            "services/machine_code/cubin/reader_corpus/a",
            ["fuzz", "build-asan"],
            ["test-release", "test-asan", "behaviour"],
        ),
        ("proto/eidolon/timing/v1/timing.proto", ["test-release", "behaviour", "kube:first_job", "page"], []),
        ("helm/eidolon/values.yaml", ["kube:chart", "dashboards", "scripts"], ["test-release", "build-asan"]),
        ("operator-manifests/rbac.yaml", ["test-release", "scripts", "kube:tenants"], ["build-asan"]),
        ("dashboards/check.py", ["kube:cluster_metrics", "dashboards"], ["behaviour"]),
        ("docs/reference/generated/report_fields.md", ["docs", "test-release"], ["test-asan"]),
        ("e2e/behaviours/test_disk.py", ["behaviour:disk"], ["behaviour"]),
        ("services/controller/sweep/points.cc", ["behaviour:sweep", "page:page_sweeps"], ["behaviour", "page"]),
        ("e2e/requirements.txt", ["everything"], []),
        ("pyproject.toml", [], ["everything", "test-release"]),
    ],
)
def test_what_a_path_affects(path, some, none):
    parts = affected_by(path)

    assert set(some) <= set(parts)
    assert not set(none) & set(parts)
