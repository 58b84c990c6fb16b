"""Dashboards in a browser, drawn by Grafana's own components from what a real Prometheus answers to their queries.

The components are of @grafana/ui and @grafana/data, bundled by dashboards/grafana/environment. Grafana's server is not
there: dashboards/grafana/draw.js puts the panels into the dashboard's grid below a line of the same height.
"""

import functools
import json
import pathlib

import environments

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOARDS = ROOT / "helm/eidolon/files/dashboards"
SIZE = {"width": 1440, "height": 900}
ADDRESS = "http://grafana.invalid"
DOCUMENT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Dashboard</title>
<link rel="stylesheet" href="/draw.css">
<body style="margin: 0"><div id="dashboard"></div><script src="/draw.js"></script></body></html>"""
# Collects the text of each panel, whether it is empty, and which of its texts are cut off.
SEEN = """() => [...document.querySelectorAll("[data-panel]")].map((panel) => {
    const box = panel.getBoundingClientRect();
    const texts = [...panel.querySelectorAll("span, div, h2, button")].filter((node) => node.childElementCount === 0
        && node.textContent.trim() && node.getClientRects().length);
    const isCut = (node) => {
        const {left, top, right, bottom} = node.getBoundingClientRect();
        return node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).overflow !== "visible"
            || left < box.left - 1 || top < box.top - 1 || right > box.right + 1 || bottom > box.bottom + 1;
    };
    return {
        id: Number(panel.dataset.panel), text: panel.innerText, isEmpty: "empty" in panel.dataset,
        bottom: box.bottom, cut: texts.filter(isCut).map((node) => node.textContent),
    };
})"""


@functools.cache
def bundle():
    return environments.made("dashboards/grafana/environment")


def board_of(name):
    return json.loads((BOARDS / f"{name}.json").read_text())


def answers_of(board, prometheus, job, start, end):
    """Returns the series of each query of each panel, by the panel's id."""
    return {
        panel["id"]: [{"result": prometheus.series(target, job, start, end)} for target in panel["targets"]]
        for panel in board["panels"]
    }


def fulfil(route):
    """Answers the requests of the document from the bundle; icons are of Grafana's package, its font of the package of
    that font."""
    path = route.request.url.removeprefix(ADDRESS)
    if path == "/":
        return route.fulfill(body=DOCUMENT, content_type="text/html")
    packages = bundle().parent / "node_modules"
    file = bundle() / path.lstrip("/")
    if path.startswith("/public/build/"):
        file = packages / "@grafana/ui/dist/public" / path.removeprefix("/public/build/")
    elif path.startswith("/public/fonts/inter/"):
        weight = 500 if "Medium" in path else 400
        file = packages / f"@fontsource/inter/files/inter-latin-{weight}-normal.woff2"
    return route.fulfill(path=file) if file.exists() else route.fulfill(status=404)


def drawn(browser, board, answers, chosen, start, end):
    """A tab that shows the dashboard. `chosen`: the values of its variables, by label."""
    tab = browser.new_tab("light", SIZE["width"])
    tab.set_default_timeout(60_000)
    tab.on("console", browser.note_console)
    tab.route("**/*", fulfil)
    tab.goto(f"{ADDRESS}/")
    span = {"from": start * 1000, "to": end * 1000}
    tab.evaluate("(given) => drawDashboard(...given)", [board, answers, span, chosen])
    tab.wait_for_selector("[data-panel]")
    tab.wait_for_timeout(500)
    return tab


def unknown_units(tab, board):
    """Returns the units of panels and columns that Grafana does not know. Those with a prefix are words of their own."""
    configs = [panel["fieldConfig"] for panel in board["panels"]]
    named = {config["defaults"]["unit"] for config in configs}
    for override in (one for config in configs for one in config["overrides"]):
        named |= {each["value"] for each in override["properties"] if each["id"] == "unit"}
    return {unit for unit in named if ":" not in unit} - set(tab.evaluate("knownUnits()"))


def seen(tab):
    """Returns what each panel shows, by its id."""
    return {panel["id"]: panel for panel in tab.evaluate(SEEN)}
