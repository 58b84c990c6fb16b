"""Sentences of pages and of comments, for reading.py.

Pages are Markdown; their paragraphs, items of lists and cells of tables are read, code and headings are not. Comments
are those that stand alone on their lines in C++ and Python, and docstrings. A comment behind code is a label and is not
read: it may be as short as "bytes".
"""

import ast
import html.parser
import io
import re
import tokenize

BLOCKS = {"p", "li", "td"}
LEFT_OUT = {"pre", "h1", "h2", "h3", "h4", "h5", "th"}
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|No|al|approx)\.$")
END = re.compile(r"(?<=[.!?])[)\"'*]*(?=\s+[\"'(*`]*[A-Z0-9`_])")
# Lines for tools, and lines that divide a file.
FOR_TOOLS = re.compile(r"\s*(NOLINT|clang-format|IWYU|fmt:|noqa|type:|pylint|ruff:|!|-{2,}|={2,}|/)")
WORD = re.compile(r"[A-Za-z0-9][\w'-]*")


def sentences(text):
    """The text cut after full stops, question and exclamation marks, but not after abbreviations."""
    found = []
    for part in split_at(text, END):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return found


def split_at(text, pattern):
    last = 0
    for match in pattern.finditer(text):
        yield text[last : match.end()].strip()
        last = match.end()
    if text[last:].strip():
        yield text[last:].strip()


def words(text):
    return WORD.findall(text)


class Reader(html.parser.HTMLParser):
    """Collects the text of each paragraph, item and cell; "Code" stands for a span of code."""

    def __init__(self):
        super().__init__()
        self.texts, self.stack = [], []

    def handle_starttag(self, tag, attributes):
        if tag == "code" and not self.is_left_out():
            self.add(" Code ")
        if tag in BLOCKS:
            self.texts.append("")
        if tag in BLOCKS | LEFT_OUT | {"code"}:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag in self.stack:
            del self.stack[len(self.stack) - 1 - self.stack[::-1].index(tag) :]
            if tag in BLOCKS:
                self.texts.append("")

    def handle_data(self, data):
        if not self.is_left_out() and "code" not in self.stack:
            self.add(data)

    def is_left_out(self):
        return bool(LEFT_OUT & set(self.stack))

    def add(self, text):
        if self.texts:
            self.texts[-1] += text


def paragraphs(page):
    """Texts of a Markdown page."""
    import markdown

    reader = Reader()
    reader.feed(markdown.markdown(re.sub(r"<!--.*?-->", "", page, flags=re.S), extensions=["fenced_code", "tables"]))
    return [" ".join(text.split()) for text in reader.texts if text.strip()]


def cpp_comments(text):
    """Returns (line, text) of comments that stand alone; lines that follow each other are one comment."""
    lines = text.splitlines()
    return joined((number, "" if goes_on(lines, number) else line.strip()) for number, line in enumerate(lines, 1))


def goes_on(lines, number):
    """Returns whether a comment line continues the one behind the code above it: it stands in the same column."""
    at = lines[number - 1].find("//")
    if number == 1 or lines[number - 1][:at].strip():
        return False
    above = lines[number - 2]
    return above[at : at + 2] == "//" and (bool(above[:at].strip()) or goes_on(lines, number - 1))


def joined(lines, mark="//"):
    begin, block = 0, []
    for number, line in [*lines, (0, "")]:
        own = line[len(mark) :] if line.startswith(mark) else None
        if own is not None and not FOR_TOOLS.match(own):
            begin = begin or number
            block.append(own.strip())
            continue
        if any(block):
            yield begin, " ".join(" ".join(block).split())
        begin, block = 0, []


def python_comments(text):
    """(line, text) of comments that stand alone, and of docstrings."""
    lines = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            lines[token.start[0]] = token.string
    found = list(joined(((number, lines.get(number, "")) for number in range(1, max(lines, default=0) + 2)), "#"))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first = ast.get_docstring(node).split("\n\n")[0]
            found.append((node.body[0].lineno, " ".join(first.split())))
    return sorted(found)
