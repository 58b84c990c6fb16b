#!/usr/bin/env python3
"""Draws a timeline as SVG: a row for each track of its first ranks, as ui.perfetto.dev shows them.

draw_timeline.py TRACE TITLE >docs/timeline.svg
"""

import html
import sys

import trace_tables

WIDTH, LEFT, ROW, TOP = 1100, 190, 22, 46
COLOURS = {
    "iteration": "#8a8f98",
    "nvtx": "#c9a227",
    "call": "#7aa7d9",
    "wait": "#d9d9d9",
    "kernel": "#3a8a5f",
    "copy": "#b5651d",
    "nccl": "#8254b0",
    "callback": "#444444",
}
LABELS = {"call": "host call", "kernel": "kernel", "copy": "copy", "nccl": "NCCL", "wait": "waits"}
RANKS = 2
SLICES = """
    SELECT rank.name AS rank, track.id AS track_id, track.name AS track, slice.ts, slice.dur, slice.depth, slice.category,
           slice.name
    FROM slice JOIN track ON track.id = slice.track_id JOIN track rank ON rank.id = track.parent_id ORDER BY track_id, ts
"""


def pixels(slices, begin, scale):
    """(x, width, category, name) of what a row shows: slices under half a pixel are drawn together."""
    drawn = []
    for s in slices:
        x, width = LEFT + (s["ts"] - begin) * scale, s["dur"] * scale
        if x + width < LEFT or x > WIDTH - 10:
            continue
        x, width = max(x, LEFT), min(x + width, WIDTH - 10) - max(x, LEFT)
        last = drawn[-1] if drawn else None
        if last and last[2] == s["category"] and width < 0.5 and x - (last[0] + last[1]) < 0.5:
            last[1] = max(last[1], x + width - last[0])
        else:
            drawn.append([x, max(width, 0.3), s["category"], s["name"]])
    return drawn


def main():
    trace, title = sys.argv[1:3]
    slices = trace_tables.ask(trace, SLICES)
    ranks = list(dict.fromkeys(s["rank"] for s in slices))[:RANKS]
    slices = [s for s in slices if s["rank"] in ranks]
    marks = [s for s in slices if s["category"] == "iteration"]
    begin, end = min(m["ts"] for m in marks), max(m["ts"] + m["dur"] for m in marks)
    scale = (WIDTH - LEFT - 10) / (end - begin)
    out, y = [], TOP
    for rank in ranks:
        out.append(f'<text x="6" y="{y + 15}" font-weight="bold">{html.escape(rank)}</text>')
        y += ROW
        tracks = {}
        for s in slices:
            if s["rank"] == rank:
                tracks.setdefault(s["track_id"], []).append(s)
        for row in tracks.values():
            out.append(f'<text x="14" y="{y + 15}">{html.escape(row[0]["track"][:30])}</text>')
            for x, width, category, name in pixels(sorted(row, key=lambda s: (s["ts"], s["depth"])), begin, scale):
                colour = COLOURS[category]
                out.append(f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{ROW - 5}" fill="{colour}"/>')
                if width > 7 * min(len(name), 12):
                    shown = html.escape(name[: int(width / 7)])
                    out.append(f'<text x="{x + 2:.1f}" y="{y + 14}" fill="#fff" font-size="10">{shown}</text>')
            y += ROW
    legend = "".join(
        f'<rect x="{LEFT + 110 * i}" y="{y + 8}" width="12" height="12" fill="{COLOURS[kind]}"/>'
        f'<text x="{LEFT + 16 + 110 * i}" y="{y + 18}">{label}</text>'
        for i, (kind, label) in enumerate(LABELS.items())
    )
    span = f"{(end - begin) / 1e6:.2f} ms"
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 30}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="6" y="18" font-size="14">{html.escape(title)}</text>'
        f'<text x="{LEFT}" y="38">0</text><text x="{WIDTH - 70}" y="38">{span}</text>{"".join(out)}{legend}</svg>'
    )


if __name__ == "__main__":
    main()
