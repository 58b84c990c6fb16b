"""Which parts of e2e/test a changed file can affect: affects.txt says so, and describes itself."""

import functools
import pathlib
import re

TABLE = pathlib.Path(__file__).with_name("affects.txt")


@functools.cache
def rows():
    """[(globs, their pattern, parts)] in the order of the file."""
    sets, found, globs = {}, [], None
    for line in filter(None, (line.partition("#")[0].rstrip() for line in TABLE.read_text().splitlines())):
        if line.startswith("@"):
            name, _, parts = line.partition(": ")
            sets[name] = parts.split()
        elif line.startswith(" "):
            parts = [part for word in line.split() if word != "-" for part in sets.get(word, [word])]
            found.append((globs, pattern_of(globs), parts))
        else:
            globs = line
    return found


@functools.cache
def documents():
    """The parts that read documents."""
    return set(affected_by("README.md"))


def alternatives(glob):
    """The globs that one with `{a,b}` stands for."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if not found:
        return [glob]
    return [
        whole
        for choice in found[1].split(",")
        for whole in alternatives(glob[: found.start()] + choice + glob[found.end() :])
    ]


def pattern_of(globs):
    stars = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    each = [one for glob in globs.split() for one in alternatives(glob)]
    words = [re.findall(r"\*\*/|\*\*|\*|[^*]+", one) for one in each]
    return re.compile("|".join("".join(stars.get(word) or re.escape(word) for word in one) for one in words))


@functools.cache
def affected_by(path):
    """Parts, and `part:word`, that the path can affect; None when no row matches."""
    parts = next((parts for _, pattern, parts in rows() if pattern.fullmatch(path)), None)
    own = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_")
    return parts and [name for part in parts for name in each_word(part.replace(":@", f":{own}"))]


def each_word(part):
    name, colon, words = part.partition(":")
    return [name + colon + word for word in words.split(",")]


def is_document(path):
    parts = affected_by(path)
    return bool(parts) and documents() <= set(parts)
