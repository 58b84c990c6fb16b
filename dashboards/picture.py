"""Draws a dashboard as SVG: its panels in their places, with the series that its queries found in a real run."""

import hashlib
import json
import math
import re
from xml.sax.saxutils import escape, quoteattr

COLUMN, ROW, GAP, HEAD = 44, 30, 8, 54  # Pixels of the dashboard's grid of 24 columns.
COLOURS = ("#3b6fd4", "#d97a1e", "#2f9e5f", "#c2405a", "#7a55c7", "#0f8fa3", "#9a7b1c", "#6b7280")
CHARACTER = 6.1  # Mean width of a character of 11 pixels.
EMPTY = "No data in this run"
TEXT = "font-family='sans-serif' font-size='11'"
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATES = {"ops": " ops/s", "reqps": " req/s", "Bps": "B/s", "short": ""}


def digest(board):
    """Changes with the dashboard's panels and queries, so that a picture of former ones is found."""
    said = [[p["title"], p["type"], p["gridPos"], [t["expr"] for t in p["targets"]]] for p in board["panels"]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def in_unit(value, unit):
    """The figure as Grafana's unit of this name writes it."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit in ("s", "bytes"):
        for scale, name in SECONDS if unit == "s" else BINARY:
            if abs(value) >= scale:
                return f"{value / scale:.3g} {name}"
        return f"{value:.3g} {'s' if unit == 's' else 'B'}"
    for scale, name in PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {name}{RATES[unit].strip()}"
    return f"{value:.3g}{RATES[unit]}"


def legend(template, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), template).strip()


def shortened(text, width):
    most = max(3, int(width / CHARACTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def text_at(x, y, words, fill="#1f2733", anchor="start", size=None, weight=None):
    extra = f" font-size='{size}'" if size else ""
    extra += f" font-weight='{weight}'" if weight else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{fill}' text-anchor='{anchor}'{extra}>{escape(words)}</text>"


def finite(values):
    return [(at, value) for at, value in values if math.isfinite(value)]


def draw_stat(series, unit, x, y, width, height):
    """The last value of each series in large figures."""
    names = [(name, finite(values)[-1][1]) for name, values in series]
    for i, (name, value) in enumerate(names):
        middle = x + width * (i + 0.5) / len(names)
        yield text_at(middle, y + height * 0.55, in_unit(value, unit), COLOURS[0], "middle", 26, 600)
        yield text_at(middle, y + height * 0.8, shortened(name, width / len(names)), "#5b6472", "middle")


def draw_table(series, unit, x, y, width, height):
    rows = int(height / 20)
    for i, (name, values) in enumerate(series[:rows]):
        at = y + 16 + i * 20
        yield text_at(x + 4, at, shortened(name, width - 90))
        yield text_at(x + width - 4, at, in_unit(finite(values)[-1][1], unit), anchor="end")
        yield f"<path d='M{x} {at + 5.5}h{width}' stroke='#e4e8ee'/>"
    if len(series) > rows:
        yield text_at(x + 4, y + height, f"{len(series) - rows} more", "#5b6472")


def stacked(series):
    """Each series on the sum of those before it, at the instants of any."""
    below = {}
    for name, values in series:
        lines = []
        for at, value in values:
            low = below.get(at, 0)
            below[at] = low + value
            lines.append((at, low, low + value))
        yield name, lines


def draw_lines(panel, series, start, end, x, y, width, height):
    """Lines or stacked areas, with an axis in the panel's unit, seconds of the run, and the legend."""
    settings = panel["fieldConfig"]["defaults"]
    stack = settings.get("custom", {}).get("stacking", {}).get("mode") == "normal"
    series = [(name, finite(values)) for name, values in series]
    areas = list(stacked(series)) if stack else [(n, [(at, v, v) for at, v in values]) for n, values in series]
    top = max((high for _, lines in areas for _, _, high in lines), default=0) * 1.08 or 1
    left, plot, low = x + 62, width - 70, y + height - 38
    tall = low - y - 6

    def place(at, value):
        return f"{left + (at - start) / (end - start) * plot:.1f} {low - value / top * tall:.1f}"

    for part in range(5):
        at = low - tall * part / 4
        yield f"<path d='M{left} {at:.1f}h{plot:.1f}' stroke='#e4e8ee'/>"
        yield text_at(left - 6, at + 4, in_unit(top * part / 4, settings["unit"]), "#5b6472", "end", 10)
    for part in range(5):
        seconds = (end - start) * part / 4
        yield text_at(left + plot * part / 4, low + 14, f"{seconds:.0f} s", "#5b6472", "middle", 10)
    beside = left
    all_fit = sum(24 + CHARACTER * len(name) for name, _ in areas) <= plot
    for i, (name, lines) in enumerate(areas):
        colour = COLOURS[i % len(COLOURS)]
        path = "L".join(place(at, high) for at, _, high in lines)
        if stack:
            path += "L" + "L".join(place(at, under) for at, under, _ in reversed(lines)) + "Z"
        fill = f"fill='{colour}' fill-opacity='0.6'" if stack else "fill='none'"
        yield f"<path d='M{path}' {fill} stroke='{colour}' stroke-width='1.5' stroke-linecap='round'/>"
        words = name if all_fit else shortened(name, plot / len(areas) - 24)
        if beside < left + plot:
            yield f"<rect x='{beside:.1f}' y='{low + 22}' width='9' height='9' fill='{colour}'/>"
            yield text_at(beside + 13, low + 30, words, size=10)
        beside += 24 + CHARACTER * len(words)


def draw_panel(panel, series, start, end, cause):
    """`series`: (legend, [(unix seconds, value)]) of all its queries; `cause`: why there may be none."""
    grid = panel["gridPos"]
    x, y = grid["x"] * COLUMN + GAP, HEAD + grid["y"] * ROW
    width, height = grid["w"] * COLUMN - GAP, grid["h"] * ROW - GAP
    series = [(name, values) for name, values in series if finite(values)]
    yield f"<g class='panel' data-title={quoteattr(panel['title'])} data-series='{len(series)}'>"
    yield f"<title>{escape(panel['description'])}</title>"
    yield f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='3' fill='#fff' stroke='#d5dbe3'/>"
    yield text_at(x + 10, y + 19, panel["title"], weight=600, size=12)
    inside = (x + 10, y + 28, width - 20, height - 36)
    if not series:
        yield text_at(x + width / 2, y + height / 2 + 10, f"{EMPTY}: {cause}", "#5b6472", "middle")
    elif panel["type"] == "stat":
        yield from draw_stat(series, panel["fieldConfig"]["defaults"]["unit"], *inside)
    elif panel["type"] == "table":
        yield from draw_table(series, panel["fieldConfig"]["defaults"]["unit"], *inside)
    else:
        yield from draw_lines(panel, series, start, end, *inside)
    yield "</g>"


def draw(board, found, start, end, label, causes):
    """The dashboard as SVG. `found`: the series of each panel by its title; `label`: what the figures are
    from; `causes`: why panels are empty, by title."""
    width = 24 * COLUMN + GAP
    height = HEAD + max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in board["panels"]) * ROW
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' {TEXT} "
        f"data-queries='{digest(board)}'>",
        f"<rect width='{width}' height='{height}' fill='#f4f6f9'/>",
        text_at(GAP, 20, board["title"], size=16, weight=600),
        text_at(GAP, 40, label, "#5b6472"),
    ]
    for panel in board["panels"]:
        lines += draw_panel(panel, found[panel["title"]], start, end, causes.get(panel["title"], "unexpected"))
    return "\n".join([*lines, "</svg>", ""])
