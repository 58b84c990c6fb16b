"""Checks that the pictures in docs/dashboards show the dashboards as they are.

e2e/page/dashboards draws them by Grafana's own components, and writes a digest of each dashboard into drawn.json.
"""

import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
BOARDS = ROOT / "helm/eidolon/files/dashboards"
PICTURES = ROOT / "docs/dashboards"
TOGETHER_MAX_BYTES = 1_000_000


def digest(name):
    """Changes with what a picture of the dashboard shows."""
    panels = json.loads((BOARDS / f"{name}.json").read_text())["panels"]
    return hashlib.sha256(json.dumps(panels, sort_keys=True).encode()).hexdigest()[:16]


def note_drawn(name, folder=PICTURES):
    """Notes that the pictures in the folder show the dashboard as it is now."""
    path = folder / "drawn.json"
    drawn = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**drawn, name: digest(name)}, indent=1, sort_keys=True) + "\n")


def problems_of(folder=PICTURES):
    """One line for each dashboard whose picture is missing or shows an earlier state of it."""
    path = folder / "drawn.json"
    drawn = json.loads(path.read_text()) if path.exists() else {}
    for name in sorted(path.stem for path in BOARDS.glob("*.json")):
        if not (folder / f"{name}.png").exists():
            yield f"{name}.json has no picture: run e2e/page/dashboards"
        elif drawn.get(name) != digest(name):
            yield f"{name}.png shows an earlier {name}.json: run e2e/page/dashboards"
    size = sum(picture.stat().st_size for picture in folder.glob("*.png"))
    if size > TOGETHER_MAX_BYTES:
        yield f"the pictures of the dashboards take {size} bytes together; at most {TOGETHER_MAX_BYTES}"
