"""The documentation: its site is built, and each command of its pages is run here or by a test that is there."""

import subprocess

import commands
import environments
import pytest
import sentences

PAGES, WRONG = commands.read()
RUN_HERE = {page.name: page for page in PAGES if list(page.run_here())}
# Whose sentences name commands; messages.md is about mistakes.
READ = {str(path.relative_to(commands.ROOT)): path for path in commands.all_pages() if path.name != "messages.md"}


def test_the_site_is_built_without_a_warning():
    mkdocs = environments.made("e2e/docs/environment") / "bin/mkdocs"
    build = [mkdocs, "build", "--quiet", "--strict", "--config-file", commands.HERE / "mkdocs.yml"]
    done = subprocess.run(build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def test_what_the_table_says_of_pages_is_true():
    ours = sum(len(list(page.run_here())) for page in PAGES)
    print(f"{ours} commands are run here, {sum(len(page.commands) for page in PAGES) - ours} by others")
    assert not WRONG


@pytest.fixture(scope="session")
def tree(build):
    return sentences.tree_of(build / "bin/eidolon")


@pytest.mark.parametrize("page", READ)
def test_what_sentences_name_is_there(page, tree):
    assert not list(sentences.problems_of(READ[page], tree, commands.ROOT))


@pytest.mark.parametrize("page", RUN_HERE)
def test_the_commands_of_a_page_do_as_it_says(page, build, torch_python):
    problem = commands.run_page(RUN_HERE[page], build, torch_python)
    assert not problem, problem
