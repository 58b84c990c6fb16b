"""Each figure of the page and of a report is traceable to a field of the job's document: the table "The page" of
docs/reference/generated/report_fields.md says to which. Each number of a document is changed, the view is made again,
and the figures that have become others come from that number. --update writes the table."""

import copy
import datetime
import difflib
import re

import pytest
from browser import ROOT, Browser
from test_page_report import full_job

PAGE = ROOT / "docs/reference/generated/report_fields.md"
NOW = "2026-11-21T20:30:00Z"
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")
NUMBER = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z|(?<![\w.-])[+−±-]?\d[\d,]*(?:\.\d+)?(?:x\d+)*")
# Texts and lengths of the report's view in order: [part, column or "", text].
WORDS = """async (data) => {
    const {reportView} = await import("/page/report_view.js");
    // Drawings are made at once, as wide as they are on a large screen.
    window.ResizeObserver = class {
        constructor(draw) { this.draw = draw; }
        observe() { this.draw([{contentRect: {width: 1200}}]); }
    };
    const main = document.getElementById("main");
    main.replaceChildren(reportView(data).node);
    for (const details of main.querySelectorAll("details")) details.dispatchEvent(new Event("toggle"));
    const words = [];
    let part = "head";
    const lengths = (node) => [["width", node.style.width], ["share", node.style.flexGrow],
        ...(node.closest(".chart svg") && ["circle", "rect"].includes(node.tagName)
            ? ["cy", "y", "height"].map((name) => [name, node.getAttribute(name)]) : [])];
    const walk = (node) => {
        if (node.nodeType === Node.TEXT_NODE) {
            const cell = node.parentElement.closest("td, tbody th");
            if (node.data.trim()) words.push([part, cell ? cell.dataset.title || "" : "", node.data.trim()]);
            return;
        }
        if (node.tagName === "H2" || node.tagName === "DT") part = node.textContent;
        if (node.className === "warning" && !node.closest(".part")) part = "warnings";
        for (const [name, value] of lengths(node)) {
            if (!value || value.endsWith("auto") || value === "100%") continue;
            words.push([part, "", `${name} ${parseFloat(value).toFixed(2)}`]);
        }
        for (const child of node.childNodes) walk(child);
        // Nodes after a list of figures belong to the section again.
        if (node.tagName === "DL") part = "head";
    };
    walk(main);
    return words;
}"""
# Numbers that no field changes, by what stands around them.
MEANINGS = {
    r"90 %": "the level of the band, by the definition of `low` and `high`",
    r"^0 B$": "where the axis begins",
    r"^(rail|leaf|server) \d+$": "the ordinal of what is drawn",
    r"\b(1 M|1,000) (tokens|samples|iterations)": "the amount of work that a cost is of",
}


def leaves(value, at=(), path=""):
    """Each value that is not an object: its keys, and its path with [] for every index."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*at, key), f"{path}.{key}" if path else key)
        return
    yield at, path, value
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(child, (*at, index), f"{path}[]")


def shifted(time, **by):
    return (datetime.datetime.fromisoformat(time) + datetime.timedelta(**by)).isoformat().replace("+00:00", "Z")


def others(value):
    """Other values of that kind."""
    if isinstance(value, bool):
        return []
    if isinstance(value, float):
        # Little, which leaves the drawings as they are, and enough for each rounded figure.
        return [value * 1.02, value * 1.2] if value else [0.2]
    if isinstance(value, int):
        return [value + max(1, value // 50), value + max(1, value // 5)]
    if isinstance(value, str) and TIME.fullmatch(value):
        # Seconds and hours are shown, hardly both.
        return [shifted(value, seconds=61), shifted(value, hours=3)]
    if isinstance(value, str):
        changed = re.sub(r"\d", lambda digit: "1" if digit[0] == "9" else str(int(digit[0]) + 1), value)
        return [changed] if changed != value else []
    return [[*value, value[-1]]] if isinstance(value, list) and value else []


def changed_at(document, keys, value):
    """The document with that value there."""
    copied = copy.deepcopy(document)
    place = copied
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return copied


def kinds(words):
    return [(part, column, NUMBER.sub("#", text)) for part, column, text in words]


def differing(before, after):
    """Positions (word, number) of the figures of `before` that are others in `after`."""
    matcher = difflib.SequenceMatcher(None, kinds(before), kinds(after), autojunk=False)
    for block in matcher.get_matching_blocks():
        for i in range(block.size):
            one, two = before[block.a + i][2], after[block.b + i][2]
            if one != two:
                pairs = zip(NUMBER.findall(one), NUMBER.findall(two), strict=True)
                yield from ((block.a + i, at) for at, (old, new) in enumerate(pairs) if old != new)


def context(text, match):
    """The figure with the word before and behind it."""
    before = text[: match.start()].rstrip(" ").rsplit(" ", 1)[-1] if text[: match.start()].endswith(" ") else ""
    rest = text[match.end() :]
    behind = rest.split(" ", 2)[1] if rest.startswith(" ") and len(rest.split(" ", 2)) > 1 else rest.split(" ", 1)[0]
    return " ".join(
        filter(
            None, (before, match[0] + ("" if rest.startswith(" ") else behind), behind if rest.startswith(" ") else "")
        )
    )


def trace(tab, job, what_ifs):
    """Rows [where, figure, fields] of a document's view."""
    document = {"job": job, "whatIfs": what_ifs, "version": "VERSION"}
    words = tab.evaluate(WORDS, document)
    exact, perhaps = {}, {}
    for keys, path, value in leaves(document):
        name = path.removeprefix("job.")
        for replacement in others(value):
            after = tab.evaluate(WORDS, changed_at(document, keys, replacement))
            same = kinds(after) == kinds(words) and not isinstance(value, list)
            for figure in differing(words, after):
                fields = (exact if same else perhaps).setdefault(figure, set())
                fields.add(f"number of {name}[]" if isinstance(value, list) else name)
    for i, (part, column, text) in enumerate(words):
        for at, match in enumerate(NUMBER.finditer(text)):
            fields = exact.get((i, at)) or perhaps.get((i, at)) or set()
            yield (f"{part}: {column}" if column else part), context(text, match), text, sorted(fields)


def program():
    """The document of a program without iterations."""
    job, what_ifs = full_job()
    prediction = job["status"]["prediction"]
    prediction["measuredIterations"] = 0
    for name in (
        "iterationSeconds",
        "iterationPicoseconds",
        "unevenIterations",
        "steadyIteration",
        "throughput",
        "extraWork",
        "tokensPerSecond",
        "modelFlopsUtilization",
        "diagnosis",
    ):
        prediction.pop(name, None)
    del (
        prediction["criticalPath"]["iteration"],
        prediction["hostTime"]["speedRatio"],
        prediction["memory"]["allocations"],
    )
    prediction["program"] = {"seconds": 1.25, "low": 1.1, "high": 1.4, "launches": 12345}
    return job, what_ifs


@pytest.fixture(scope="module")
def rows(chromium, page_server):
    """Yields [where, figure, source] of both documents, one for figures that differ in value only."""
    found, known = [], set()
    with Browser(chromium, page_server) as browser:
        tab = browser.tab("/clusters", "h1:text-is('Clusters')", width=1440)
        tab.clock.set_fixed_time(NOW)
        for document in (full_job(), program()):
            for where, figure, text, fields in trace(tab, *document):
                meaning = [words for pattern, words in MEANINGS.items() if re.search(pattern, text)]
                source = ", ".join(f"`{field}`" for field in fields) or "".join(meaning)
                row = (where, NUMBER.sub("#", figure), source)
                if row not in known:
                    known.add(row)
                    found.append((where, figure, source))
    return found


def test_no_figure_of_the_page_is_without_a_field_of_the_document(rows):
    assert len(rows) > 80
    assert not [(where, figure) for where, figure, source in rows if not source]


def test_the_table_of_the_pages_figures_is_up_to_date(rows, pytestconfig):
    page = PAGE.read_text()
    lines = [f"| {where} | `{figure}` | {source} |" for where, figure, source in rows]
    table = "\n".join(["| where | figure, as an example | field |", "| --- | --- | --- |", *lines])
    made = f"{page[: page.index(chr(10) + '## The page')]}\n## The page\n\n{table}\n"
    if pytestconfig.getoption("update"):
        PAGE.write_text(made)
    assert made == PAGE.read_text(), "e2e/page/run -k fields --update writes it"
