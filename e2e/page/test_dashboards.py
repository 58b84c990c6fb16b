"""The dashboards as Grafana draws them, from the metrics of real jobs: the first screen of each says something in every
panel, cuts no text off, and answers people's questions without scrolling at 1440x900. With --pictures these screens are
kept (e2e/page/dashboards makes those of the documents)."""

import re

import pytest
from browser import Browser
from grafana import SIZE, answers_of, board_of, drawn, seen, unknown_units
from pictures import note_drawn
from scraped_jobs import BROKEN, JOB, OTHER, RUNNING, scraped

NUMBER = r"[\d.,]+"
# Dashboard, chosen job, and the text that panels must contain as regular expressions, for each first screen.
SCREENS = {
    "job": ("job", JOB, {
        "How fast: throughput": rf"tokens/s\s+{NUMBER}\s*[kM]",
        "How sure: 90 % band": rf"plus or minus\s+{NUMBER}\s*%",
        "Does it fit": rf"in memory\s+Fits\s+of the GPU's memory\s+{NUMBER}\s*%",
        "What limits it, and what would help": rf"(Communication|host|bandwidth)\s+{NUMBER} [mµ]s\s+[A-Z][\w ().,]+\s+\d+%",
        "What it costs: GPU time": rf"for 1 M tokens\s+{NUMBER}\s*(s|min)",
        "Did it fail, and where": r"Complete",
        "When will it be done: time left": r"It is over",
    }),
    "failed": ("job", BROKEN, {
        "Did it fail, and where": r"CommandFailed script\.py:\d+\s+Failed",
        # It measured iterations before it failed, which the curve below shows.
        "How fast: throughput": r"No prediction$",
        "Time of an iteration": r"No prediction$",
    }),
    "running": ("job", RUNNING, {
        "Did it fail, and where": r"measures iterations\s+Running",
        "When will it be done: time left": r"\d+ (second|minute|hour|day|week)",
    }),
    "fleet": ("fleet", JOB, {
        "What is running now, and when will it be done": rf"{RUNNING}\s+{NUMBER}\s*%\s+\d+ \w+",
        "What failed, and where": rf"{BROKEN}\s+CommandFailed\s+script\.py:\d+",
        "Which is faster, and why": rf"{OTHER}(.|\s)*{JOB}",
    }),
    "sweep": ("sweep", JOB, {}),
    "fabric": ("fabric", JOB, {}),
}  # fmt: skip
# Screens with panels that may be empty: these jobs did not measure everything.
UNKNOWN = {"failed", "running"}
# Names of metrics, and of units and options that Grafana does not know, are shown as they are written; so are all labels
# of a series whose legend is empty.
RAW = re.compile(
    r"eidolon_|\bundefined\b|\bNaN\b|\bnull\b|percentunit|sishort|dtduration|\{\{|_communication| Mil\b|\w=\""
)


@pytest.fixture(scope="session")
def recorded(start_server, folder):
    """Prometheus' answers to the queries of every dashboard, by its name and the chosen job; and the times of their run."""
    with start_server("dashboards") as server, scraped(server, folder) as (prometheus, start, end):
        shown = {(board, job) for board, job, _ in SCREENS.values()}
        answers = {(name, job): answers_of(board_of(name), prometheus, job, start, end) for name, job in shown}
    return answers, start, end


@pytest.fixture
def screen(chromium, recorded, pictures):
    """Opens the first screen of a dashboard, and keeps a picture of it; returns what each panel shows, by its title."""
    answers, start, end = recorded
    with Browser(chromium, None) as tabs:

        def open_board(name, job, picture):
            board = board_of(name)
            chosen = {"Data source": "Prometheus", "Namespace": "default" if name in ("job", "sweep") else "All"}
            chosen |= {"Job": job} if name == "job" else {}
            tab = drawn(tabs, board, answers[name, job], chosen, start, end)
            unknown = unknown_units(tab, board)
            assert not unknown, f"Grafana does not know the units {unknown}"
            if pictures:
                tab.screenshot(path=pictures / f"{picture}.png")
                note_drawn(name, pictures)
            found = seen(tab)
            return {panel["title"]: found[panel["id"]] for panel in board["panels"] if panel["id"] in found}

        yield open_board


@pytest.mark.parametrize("name", SCREENS)
def test_the_first_screen_answers(screen, name):
    board, job, questions = SCREENS[name]
    panels = screen(board, job, name)
    for title, panel in panels.items():
        assert name in UNKNOWN or not panel["isEmpty"], f"'{title}' has no data"
        assert not panel["cut"], f"'{title}' cuts off {panel['cut']}"
        assert not RAW.search(panel["text"]), f"'{title}' shows {panel['text']!r}"
    for title, pattern in questions.items():
        assert panels[title]["bottom"] <= SIZE["height"], f"'{title}' ends at {panels[title]['bottom']}"
        assert re.search(pattern, panels[title]["text"]), f"'{title}' shows {panels[title]['text']!r}"
