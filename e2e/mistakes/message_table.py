"""docs/reference/generated/messages.md: what the user sees of each mistake."""

import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/generated/messages.md"
LONGEST = 420  # Of a message in the table; the rest is cut.
HEAD = """# What the command says to mistakes

`e2e/messages` makes each of these mistakes and writes this table with `--update`; without
it, a message that differs is a failure.
Longer messages are cut at `...`. FOLDER, PYTHON and DATA stand for the folder of the job, of its environment and of
the server. Of a report only the verdict is shown.

| mistake | command or document | status | what the user sees |
| --- | --- | --- | --- |
"""


def kept(text):
    """Returns the text on one line; of a report its words about the job, whose output and figures are another
    matter."""
    verdict = re.search(r"(?m)^run  (Complete|Failed) (.|\n)*?(?=^  (?:on|throughput)  |\Z)", text)
    lines = [line.strip() for line in (verdict[0] if verdict else text).splitlines()]
    text = " / ".join(re.sub(r"\s+", " ", line) for line in lines if line)
    text = text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " ..."
    return text.replace("|", "\\|").replace("`", "'")


class Table:
    """The rows of the page by the mistake's name."""

    def __init__(self, update):
        self.update, self.text = update, TABLE.read_text() if TABLE.exists() else ""
        rows = [line for line in self.text.splitlines(keepends=True) if line.startswith("| ")][2:]
        self.rows = {row.split(" | ")[0].removeprefix("| "): row for row in rows}

    def expect(self, name, shown, status, text):
        """The page has this row; with `update`, it will have it."""
        row = f"| {name} | `{shown}` | {status} | `{kept(text)}` |\n"
        if self.update:
            self.rows[name] = row
        before = self.rows.get(name, "")
        assert before == row, f"{TABLE.name} differs; e2e/messages --update writes it:\n{before}{row}"

    def page(self, names):
        return HEAD + "".join(self.rows[name] for name in names if name in self.rows)
