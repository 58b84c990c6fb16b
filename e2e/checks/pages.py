#!/usr/bin/env python3
"""Pages test: pages that commands write are what they would write now, from the stored results.

    e2e/checks/pages.py

Writes them anew; where one differs from what stood there it says so, and leaves what was there.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages that each command writes without running anything.
WRITERS = {
    ("e2e/validate", "--page"): ("validation.md", "operators.md", "kernel_counts.md"),
    ("e2e/measured/run", "--page"): ("measured.md", "measured_h100.md"),
}


def differing(before, after):
    """The first line that differs, for a message."""
    old, new = before.splitlines(), after.splitlines()
    for number, (was, would_be) in enumerate(zip(old, new, strict=False), start=1):
        if was != would_be:
            return number, was, would_be
    return min(len(old), len(new)) + 1, "(the end)", "(more lines)" if len(new) > len(old) else "(fewer lines)"


def main():
    wrong = 0
    for command, pages in WRITERS.items():
        files = [ROOT / "docs/reference/generated" / page for page in pages]
        before = [file.read_text() for file in files]
        try:
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            after = [file.read_text() for file in files]
        finally:
            for file, text in zip(files, before, strict=True):
                file.write_text(text)
        for file, was, would_be in zip(files, before, after, strict=True):
            if was == would_be:
                continue
            wrong += 1
            number, old, new = differing(was, would_be)
            print(
                f"{file.relative_to(ROOT)}:{number}: is not what `{' '.join(command)}` writes from the stored results"
            )
            print(f"  there:  {old[:160]}\n  writes: {new[:160]}")
    count = sum(map(len, WRITERS.values()))
    print(f"pages: {count - wrong} of {count} are what their commands write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
