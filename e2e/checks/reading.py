#!/usr/bin/env python3
"""Reader's test: how easily pages read, and whether comments begin with whole sentences.

    e2e/checks/reading.py [--list WHAT] [--pages] [PATH ...]

Pages (README.md, CONTRIBUTING.md, docs and the READMEs of folders, without generated ones): Flesch's reading ease and
words in a sentence. Comments (C++ and Python): how many first sentences are fragments, which have no finite verb of
their own, for each 1,000 words of comments; labels, which a noun heads, are counted beside them. reading.toml has the
bounds. `--list fragment` (or label) prints each with its place, `--pages` the figures of each page; PATH limits these.
"""

import argparse
import collections
import dataclasses
import functools
import pathlib
import re
import sys
import tomllib

import grammar
import prose
from tidy import tracked

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e/harness"))
import environments

BOUNDS = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())
GENERATED = re.compile(r"^docs/reference/generated/")
PAGE = re.compile(r"^(README|CONTRIBUTING)\.md$|^docs/.*\.md$|(^|/)README\.md$")
SOURCE = re.compile(r"^(services|shim)/.*\.(h|cc|c)$|^(e2e|dashboards|operator-manifests|python|shim|services)/.*\.py$")
LEAST_WORDS = 100  # Of a page with figures of its own; those of fewer words say little.


@dataclasses.dataclass
class Page:
    sentences: int = 0
    words: int = 0
    syllables: int = 0
    long: list = dataclasses.field(default_factory=list)  # Sentences above the bound.

    @property
    def length(self):
        return self.words / max(self.sentences, 1)

    @property
    def ease(self):
        """Flesch, R. (1948): A new readability yardstick."""
        return 206.835 - 1.015 * self.length - 84.6 * self.syllables / max(self.words, 1)


@functools.cache
def syllables(word):
    import pyphen

    dictionary = _dictionary(pyphen)
    return len(dictionary.positions(word)) + 1


@functools.cache
def _dictionary(pyphen):
    return pyphen.Pyphen(lang="en_US")


def measured(text, long_from):
    page = Page()
    for paragraph in prose.paragraphs(text):
        for sentence in prose.sentences(paragraph):
            words = prose.words(sentence)
            if len(words) < 3:  # Of a cell of a table.
                continue
            page.sentences += 1
            page.words += len(words)
            page.syllables += sum(map(syllables, words))
            if len(words) > long_from:
                page.long.append((len(words), sentence))
    return page


def problems_of_page(name, page, bounds):
    """Yields a line for each figure of a page that is beyond its bound."""
    if page.words < LEAST_WORDS:
        return
    ease = bounds.get("ease_of", {}).get(name, bounds["ease"])
    if page.ease < ease:
        yield f"{name}: reading ease {page.ease:.1f}, at least {ease} is asked for"
    length = bounds.get("length_of", {}).get(name, bounds["length"])
    if page.length > length:
        yield f"{name}: {page.length:.1f} words in a sentence, at most {length} are allowed on average"


def comments(name, text):
    return prose.python_comments(text) if name.endswith(".py") else prose.cpp_comments(text)


def room_of(name):
    """The folder that bounds are kept for: two levels, which is one of "services/agent" or a file of "dashboards"."""
    return "/".join(pathlib.PurePath(name).parent.parts[:2])


def first_sentences(root, names):
    """(name, line, first sentence, its kind, words of the whole comment)"""
    for name in names:
        for line, text in comments(name, (root / name).read_text(errors="replace")):
            first = prose.sentences(text)[0]
            yield name, line, first, grammar.kind(first), len(prose.words(text))


@dataclasses.dataclass
class Room:
    words: int = 0
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def rate(self, kind):
        return 1000 * self.kinds[kind] / max(self.words, 1)


def rooms_of(found):
    rooms = collections.defaultdict(Room)
    for name, _, _, kind, words in found:
        for room in (room_of(name), ""):
            rooms[room].words += words
            rooms[room].kinds[kind] += 1
    return rooms


def problems_of_rooms(rooms, bounds):
    """Rooms with too many fragments, and bounds that are no longer needed as high as they are."""
    for name, room in sorted(rooms.items()):
        if not name:
            continue
        rate, own = room.rate(grammar.FRAGMENT), bounds["fragments_of"].get(name)
        allowed = bounds["fragments"] if own is None else own
        # A single fragment of a small room is more than the bound.
        if rate > allowed and room.kinds[grammar.FRAGMENT] > bounds["fragments_few"]:
            yield f"{name}: {rate:.2f} fragments begin comments for each 1,000 words, allowed are {allowed}"
        if own is not None and rate < own - bounds["slack"]:
            yield f"reading.toml: {name} has {rate:.2f} fragments, not {own}: lower its bound"
    for name in sorted(set(bounds["fragments_of"]) - set(rooms)):
        yield f"reading.toml: no folder {name}"
    labels = rooms[""].rate(grammar.LABEL)
    if labels > bounds["labels"]:
        yield f"{labels:.2f} labels begin comments for each 1,000 words, allowed are {bounds['labels']}"


def pages_of(root, names):
    bounds = BOUNDS["pages"]
    return {name: measured((root / name).read_text(), bounds["long"]) for name in names}


def all_names(root):
    names = sorted(map(str, tracked(root)))
    pages = [name for name in names if PAGE.search(name) and not GENERATED.search(name)]
    return pages, [name for name in names if SOURCE.search(name)]


def chosen(names, paths):
    return [name for name in names if not paths or any(name.startswith(path) for path in paths)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=(grammar.FRAGMENT, grammar.LABEL, "long"))
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    environments.bring("e2e/checks/environment")

    pages, sources = all_names(ROOT)
    pages = pages_of(ROOT, chosen(pages, options.paths))
    found = list(first_sentences(ROOT, chosen(sources, options.paths)))
    if options.list == "long":
        for name, page in pages.items():
            print(*(f"{name}: {words} words: {sentence}" for words, sentence in page.long), sep="\n")
    elif options.list:
        print(*(f"{name}:{line}: {first}" for name, line, first, kind, _ in found if kind == options.list), sep="\n")
    if options.pages:
        for name, page in pages.items():
            print(f"{page.ease:6.1f} {page.length:5.1f} {len(page.long):3} {page.words:6} {name}")
    if options.list or options.pages:
        return 0
    rooms = rooms_of(found)
    problems = [problem for name, page in pages.items() for problem in problems_of_page(name, page, BOUNDS["pages"])]
    problems += problems_of_rooms(rooms, BOUNDS["comments"])
    print(*problems, sep="\n", end="\n" if problems else "")
    whole, tree = Page(), rooms[""]
    for page in pages.values():
        whole.sentences, whole.words = whole.sentences + page.sentences, whole.words + page.words
        whole.syllables += page.syllables
    print(
        f"reading: {len(pages)} pages: ease {whole.ease:.1f}, {whole.length:.1f} words in a sentence; {tree.words} words "
        f"of comments: {tree.rate(grammar.FRAGMENT):.2f} fragments and {tree.rate(grammar.LABEL):.2f} labels begin one "
        f"for each 1,000 words; {len(problems)} problems"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
