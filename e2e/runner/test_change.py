"""What has changed since the tests last passed."""

import itertools
import json
import os
import runpy
import subprocess

import pytest

from runner import change
from runner.change import ALL_GROUPS, ROOT, Git, find_changes, write_changes
from runner.parts import Part

BUILT, DOCUMENT = "services/base/a.cc", "README.md"
PARTS = [Part("format", (), 1), Part("docs", (), 1), Part("asan", (), 1, again=True), Part("tsan", (), 1, again=True)]


class Repository:
    """A git repository of commits that change one file each."""

    def __init__(self, folder):
        self.folder, self.file = folder / "tree", folder / "tested.jsonl"
        self.folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words, environment=None):
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        command = ["git", "-C", self.folder, *names, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout.strip()

    def write(self, path):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(os.urandom(8).hex())

    def commit(self, path=BUILT, hours=None):
        """Commits a change of the file. `hours`: of the day on which, if not now."""
        self.write(path)
        self.git("add", "-A")
        at = {} if hours is None else {"GIT_COMMITTER_DATE": f"2026-01-01T{hours:02}:30:00Z"}
        self.git("commit", "-q", "-m", path, environment=os.environ | at)
        return self.git("rev-parse", "HEAD")

    def passed(self, commit, whole=True, every=False, parts=("format",)):
        change.record(commit, parts, whole, every, self.file)

    def changes(self, since=None):
        return find_changes(Git(self.folder), PARTS, since, self.file)

    def find(self, since=None):
        """The changes of a part that builds nothing, and of the sanitizers."""
        changes = self.changes(since)
        return changes["docs"], changes["asan"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.delenv(change.SINCE, raising=False)
    return Repository(tmp_path)


def test_the_base_is_the_newest_ancestor_that_passed_as_a_whole(repository):
    first, second = repository.commit(), repository.commit("docs/a.md")
    third = repository.commit("proto/a.proto")
    repository.commit("helm/a.yaml")
    repository.passed(first)
    repository.passed(second)
    repository.passed(third, whole=False)

    found, again = repository.find()

    assert found.paths == {"proto/a.proto", "helm/a.yaml"}
    assert again is found
    assert second[:12] in found.sentence


def test_a_part_that_passed_beside_a_failed_one_has_a_newer_base(repository):
    first, second = repository.commit("a.cc"), repository.commit("b.cc")
    repository.commit("c.cc")
    repository.passed(first)
    repository.passed(second, whole=False, parts=("format", "asan"))

    changes = repository.changes()

    assert changes["format"].paths == {"c.cc"}
    assert changes["docs"].paths == changes["tsan"].paths == {"b.cc", "c.cc"}
    assert changes["asan"] is changes["tsan"]  # One selection is made for both.
    assert write_changes(changes)[1].startswith("format: base " + second[:12])


def test_a_part_that_failed_from_the_beginning_runs_whole_beside_others(repository):
    repository.passed(repository.commit(), whole=False)
    repository.commit("c.cc")

    changes = repository.changes()

    assert changes["format"].paths == {"c.cc"}
    assert changes["docs"].everything


def test_a_commit_that_passed_on_another_branch_is_not_a_base(repository):
    repository.commit()
    repository.git("checkout", "-q", "-b", "other")
    repository.passed(repository.commit("shim/a.cc"))
    repository.git("checkout", "-q", "main")
    repository.commit()

    assert repository.find()[0].everything


def test_since_comes_before_the_variable_and_that_before_the_record(repository, monkeypatch):
    commits = [repository.commit(f"services/{name}.cc") for name in "abcd"]
    repository.passed(commits[2])
    assert repository.find()[0].paths == {"services/d.cc"}

    monkeypatch.setenv(change.SINCE, commits[1])
    assert repository.find()[0].paths == {"services/c.cc", "services/d.cc"}
    assert repository.find(since=commits[0])[0].paths == {"services/b.cc", "services/c.cc", "services/d.cc"}


def test_since_a_branch_means_since_it_was_left(repository):
    repository.commit()
    repository.git("checkout", "-q", "-b", "mine")
    repository.commit("shim/mine.cc")
    repository.git("checkout", "-q", "main")
    repository.commit("services/theirs.cc")
    repository.git("checkout", "-q", "mine")

    assert repository.find(since="main")[0].paths == {"shim/mine.cc"}


def test_an_unknown_commit_is_named(repository):
    repository.commit()

    with pytest.raises(ValueError, match="no commit is called 'gone'"):
        repository.find(since="gone")


def test_a_variable_that_names_no_commit_makes_everything_count(repository, monkeypatch):
    """The variable names the former commit of a branch that was pushed by force."""
    repository.passed(repository.commit())
    monkeypatch.setenv(change.SINCE, "0" * 40)

    found = repository.find()[0]

    assert found.everything
    assert "is not known here: everything counts as changed" in found.sentence


def test_what_is_not_committed_counts(repository):
    repository.passed(repository.commit())
    repository.write("services/base/new file.cc")
    repository.write(BUILT)

    found = repository.find()[0]

    assert found.paths == {"services/base/new file.cc", BUILT}
    assert found.groups == {1}  # Of the commit that it would be.


def test_a_renamed_file_counts_by_both_names(repository):
    repository.passed(repository.commit("services/old.cc"))
    repository.git("mv", "services/old.cc", "services/new.cc")
    repository.git("commit", "-q", "-m", "Move")

    assert repository.find()[0].paths == {"services/old.cc", "services/new.cc"}


def test_without_a_base_everything_counts_and_sanitizers_take_the_newest_commit(repository):
    repository.commit()
    repository.commit("shim/vendor/nccl/a.cc")

    found, again = repository.find()

    assert found.everything
    assert "everything counts as changed" in found.sentence
    assert again.paths == {"shim/vendor/nccl/a.cc"}
    assert again.groups == {1}
    assert "what " in again.sentence and "group 2 of 4" in again.sentence


def test_without_a_base_the_last_eight_hours_count(repository):
    repository.commit("services/old.cc", hours=1)
    repository.commit("services/base/a.cc", hours=2)
    repository.commit("shim/b.cc", hours=9)
    repository.commit("shim/c.cc", hours=10)

    found, again = repository.find()

    assert found.paths == {"shim/b.cc", "shim/c.cc"}
    assert found.groups == {3}
    assert "no ancestor has passed here: what the last eight hours have changed (2 files)" in found.sentence
    assert again.paths == {"shim/c.cc"}


def test_without_a_base_sanitizers_are_sampled_after_a_commit_of_documents(repository):
    repository.commit()
    repository.commit(DOCUMENT)

    assert repository.find()[1].groups


def test_without_git_everything_counts(tmp_path):
    changes = find_changes(Git(tmp_path), PARTS, None, tmp_path / "none")

    assert all(one.everything for one in changes.values())


def test_a_change_of_documents_has_no_sample(repository):
    repository.passed(repository.commit())
    repository.commit(DOCUMENT)
    repository.write("docs/more.md")

    found = repository.find()[0]

    assert found.only_documents
    assert found.groups == frozenset()


def test_four_consecutive_commits_that_count_have_every_group(repository):
    """However many are tested at a time, with documents between them, and on a merged branch."""
    commits = []
    for path in [BUILT, DOCUMENT, BUILT, BUILT, DOCUMENT, DOCUMENT, BUILT, BUILT, BUILT, BUILT]:
        commits.append((repository.commit(path), path))
    counting = [commit for commit, path in commits if path == BUILT]

    groups = {}
    for before, commit in itertools.pairwise(counting):
        repository.git("checkout", "-q", commit)
        groups[commit] = repository.find(since=before)[0].groups

    assert [len(one) for one in groups.values()] == [1] * 6
    for at in range(1, len(counting) - 3):
        assert frozenset.union(*(groups[commit] for commit in counting[at : at + 4])) == ALL_GROUPS
    assert repository.find(since=counting[-5])[0].groups == ALL_GROUPS


def test_a_merge_is_one_commit_with_all_that_it_brings(repository):
    repository.passed(repository.commit())
    repository.git("checkout", "-q", "-b", "side")
    for name in "abc":
        repository.commit(f"shim/{name}.cc")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "--no-edit", "side")

    found = repository.find()[0]

    assert len(found.paths) == 3
    assert found.groups == {1}


def test_of_a_shallow_clone_the_hash_gives_the_group(repository, tmp_path):
    for _ in range(3):
        repository.commit()
    subprocess.run(["git", "clone", "-q", "--depth=2", f"file://{repository.folder}", tmp_path / "clone"], check=True)

    changes = find_changes(Git(tmp_path / "clone"), PARTS, None, repository.file)

    assert changes["docs"].everything
    assert len(changes["asan"].groups) == 1


def test_a_record_that_was_cut_off_is_passed_over(repository):
    commit = repository.commit()
    repository.passed(commit)
    with open(repository.file, "a") as file:
        file.write('{"commit": "abc", "wh')

    assert repository.find()[0].paths == frozenset()
    assert json.loads(repository.file.read_text().splitlines()[0])["parts"] == ["format"]


def test_a_release_needs_a_run_of_all_that_passed(repository, monkeypatch, tmp_path):
    commit = repository.commit()
    repository.passed(commit)
    repository.passed(commit, whole=False, every=True)
    assert not change.passed_with_all(commit, repository.file)

    repository.passed(commit, every=True)
    assert change.passed_with_all(commit, repository.file)

    monkeypatch.setenv("EIDOLON_CACHE_DIR", str(tmp_path / "empty"))
    pytest.importorskip("yaml")
    assert runpy.run_path(str(ROOT / "e2e/release"))["untested"]()
