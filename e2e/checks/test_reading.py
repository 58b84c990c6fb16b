"""Tests of reading.py: what it takes for a sentence, a label and a fragment, and what it refuses."""

import environments
import pytest

environments.bring("e2e/checks/environment")

import grammar
import prose
import reading

SENTENCES = [
    "Returns the ranks of the job.",
    "Parse a document.",
    "Runs what is queued, at most so many times over.",
    "Requires: the stream is captured.",
    "The agent drains the ring.",
    "A job that waits for its cluster fails after a minute.",
    "When a rank ends, the agent reports it.",
    "Ranks are started by torchrun, by hand, or by the program itself.",
    "In a folded job, `ghost_ranks()` have no process.",
    "It is not thread-safe.",
    "Authenticates callers by token.",
    "ncclCommSplit does not say who the members are.",
    "Notifies bound listeners only when the change lets them skip a query.",
]
LABELS = [
    "The members' ranks in the parent.",
    "A link between two switches, which transfers share.",
    "Calls of the driver in which threads wait.",
    "Bytes that the kernel writes.",
    "Ordinal of the communicator.",
]
FRAGMENTS = [
    "What stands between a service and its callers.",
    "Whether the job fits.",
    "Where the members of a new communicator meet: by unique id, or by splitting a parent.",
    "Of the slowest rank.",
    "Who waits for nothing else and began first.",
    "How far a curve's system is from the call's.",
    "As CPython declares them.",
    "By kind.",
    "Behind the controller's back.",
    "Not thread safe.",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_verb_of_its_own_makes_a_sentence(sentence):
    assert grammar.kind(sentence) == grammar.SENTENCE


@pytest.mark.parametrize("sentence", LABELS)
def test_a_noun_makes_a_label(sentence):
    assert grammar.kind(sentence) == grammar.LABEL


@pytest.mark.parametrize("sentence", FRAGMENTS)
def test_a_clause_or_phrase_by_itself_is_a_fragment(sentence):
    assert grammar.kind(sentence) == grammar.FRAGMENT


def test_comments_of_cpp_are_blocks_that_stand_alone():
    text = "// One thing.\n// More of it.\nint a;  // Bytes.\n\n  // Other. Thing.\n// NOLINTNEXTLINE(b)\nint b;\n"

    assert list(prose.cpp_comments(text)) == [(1, "One thing. More of it."), (5, "Other. Thing.")]


def test_a_comment_behind_code_goes_on_below_it():
    text = "int a;  // Bytes of the arena, which\n        // holds them.\n        // All.\n  // Other.\nint b;\n"

    assert list(prose.cpp_comments(text)) == [(4, "Other.")]


def test_comments_of_python_are_blocks_and_docstrings():
    text = '#!/usr/bin/env python3\n"""A file.\n\nMore."""\n\n# Of two\n# lines.\nA = 1  # Bytes.\n\n\n'
    text += 'def f():\n    """Does it."""\n'

    assert prose.python_comments(text) == [(2, "A file."), (6, "Of two lines."), (12, "Does it.")]


def test_sentences_end_at_full_stops_but_not_at_those_of_abbreviations_and_files():
    assert prose.sentences("Reads a.cc, e.g. Twice. It (`b`) is 1.5 s. Code ends.") == [
        "Reads a.cc, e.g. Twice.",
        "It (`b`) is 1.5 s.",
        "Code ends.",
    ]


def test_pages_are_read_without_code_and_headings():
    page = "# A Heading\n\nOne `--flag` here.\n\n* An [item](x.md).\n\n```bash\neidolon run\n```\n\n"
    page += "| a | b |\n| - | - |\n| Cell. | |\n"

    assert prose.paragraphs(page) == ["One Code here.", "An item.", "Cell."]


BOUNDS = {"ease": 60, "length": 12, "long": 20}
EASY = "The agent drains the ring. It sends each new kind of work to the timing service. " * 20
LONG = f"The agent drains the ring, {'and it sends work on, ' * 12} until it ends. " * 20
HARD = "Probabilistic characterization necessitates multidimensional parameterization considerations. " * 40


TOO_LONG, TOO_HARD = "words in a sentence, at most 12", "reading ease"


@pytest.mark.parametrize(("text", "problem"), [(LONG, TOO_LONG), (HARD, TOO_HARD)], ids=["long", "hard"])
def test_a_page_beyond_the_bounds_is_refused(text, problem):
    found = list(reading.problems_of_page("page.md", reading.measured(text, 20), BOUNDS))

    assert any(problem in line for line in found), found


@pytest.mark.parametrize("text", [EASY, HARD[:99]], ids=["easy", "short"])
def test_other_pages_pass(text):
    assert list(reading.problems_of_page("page.md", reading.measured(text, 20), BOUNDS)) == []


def test_long_sentences_of_a_page_are_listed():
    assert len(reading.measured(LONG, 20).long) == 20
    assert reading.measured(EASY, 20).long == []


def rooms(root, **files):
    for name, text in files.items():
        file = root / "services" / name / "a.h"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return reading.rooms_of(reading.first_sentences(root, [f"services/{name}/a.h" for name in files]))


ALLOWED = {"fragments": 0.5, "fragments_few": 1, "labels": 100, "slack": 1, "fragments_of": {}}
GOOD = "// Returns the ranks of the job.\nint a;\n\n" * 10
BAD = "// Whether the job fits.\nint a;\n\n" * 2


def test_a_room_with_fragments_is_refused(tmp_path):
    found = list(reading.problems_of_rooms(rooms(tmp_path, good=GOOD, bad=GOOD + BAD), ALLOWED))

    [problem] = found
    assert problem.startswith("services/bad: ") and "fragments begin comments" in problem


def test_a_rooms_own_bound_may_only_fall(tmp_path):
    found = rooms(tmp_path, bad=GOOD + BAD)
    rate = found["services/bad"].rate(grammar.FRAGMENT)
    problems = [
        list(reading.problems_of_rooms(found, ALLOWED | {"fragments_of": {"services/bad": bound}}))
        for bound in (rate - 0.1, rate, rate + 5)
    ]

    assert [len(each) for each in problems] == [1, 0, 1]
    assert "lower its bound" in problems[2][0]
    [gone] = reading.problems_of_rooms(rooms(tmp_path, good=GOOD), ALLOWED | {"fragments_of": {"services/gone": 3}})
    assert "no folder services/gone" in gone


def test_labels_are_bounded_too(tmp_path):
    found = rooms(tmp_path, labels="// The ranks.\nint a;\n\n" * 5)

    [problem] = reading.problems_of_rooms(found, ALLOWED)
    assert "labels begin comments" in problem
