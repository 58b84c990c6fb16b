"""Files of results as JSON with a line for each row, so that a changed row is a changed line."""

import json
import pathlib


def write_rows(path: pathlib.Path, rows: dict):
    """Writes {key: result} sorted by key, each on a line of its own."""
    lines = (f" {json.dumps(key)}: {json.dumps(rows[key])}" for key in sorted(rows))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read_rows(path: pathlib.Path):
    """Returns {key: result}; of a file that does not exist nothing."""
    return json.loads(path.read_text()) if path.exists() else {}
