"""accuracy.csv: what the models of today predict for each scenario, and how far that may move before somebody looks.

A row is a number of seconds of one prediction: an iteration's mean, the ends of its band, and what the kernels of each
family that matters last in all. A number within the tolerance of its row passes, and the drift is printed; one beyond fails.
"""

import collections
import csv
import fcntl

from server import ROOT

TABLE = ROOT / "e2e" / "accuracy.csv"
COLUMNS = ("scenario", "of", "seconds", "tolerance_percent")
BAND = {"mean": 1.0, "low": 5.0, "high": 5.0}
FAMILY_PERCENT = 3.0
LEAST_SHARE = 0.01  # Of the time of all kernels: families below are one row.
OTHERS = "other kernels"


def rows_of(prediction, families=None):
    """Seconds by what they are of. `families`: those with a row of their own, or None: the ones that matter."""
    sums = collections.Counter()
    for kernel in prediction["kernels"]:
        sums[kernel["family"]] += kernel["seconds"]
    if families is None:
        families = [family for family, seconds in sums.items() if seconds >= LEAST_SHARE * sum(sums.values())]
    rows = {key: prediction["iterationSeconds"][key] for key in BAND}
    rows |= {family: sums.get(family, 0.0) for family in sorted(families)}
    rows[OTHERS] = sum(seconds for family, seconds in sums.items() if family not in families)
    return rows


def read(text):
    """Rows by scenario: {of: (seconds, tolerance in per cent)}."""
    table = collections.defaultdict(dict)
    for row in csv.DictReader(text.splitlines()):
        table[row["scenario"]][row["of"]] = float(row["seconds"]), float(row["tolerance_percent"])
    return table


def differences(scenario, known, prediction):
    """(line, beyond its tolerance) for each row that is not what it was."""
    now = rows_of(prediction, known.keys() - BAND.keys() - {OTHERS})
    whole = sum(kernel["seconds"] for kernel in prediction["kernels"])
    for of, (seconds, tolerance) in known.items():
        if now[of] == seconds:
            continue
        # Of what hardly counts a part of the whole may change.
        base = max(seconds, LEAST_SHARE * whole) if of == OTHERS else seconds
        percent = 100 * (now[of] - seconds) / base if base else float("inf")
        line = f"{scenario}, {of}: {seconds:.6g} s in the table, now {now[of]:.6g} s, {percent:+.2f} %"
        yield f"{line} ({tolerance:g} % allowed)", abs(percent) > tolerance


def update(scenario, prediction):
    """Writes the rows of one scenario anew; tolerances stay. Several processes may do so at a time."""
    with open(TABLE, "a+", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        table = read(file.read())
        before = table[scenario]
        table[scenario] = {
            of: (seconds, before.get(of, (0, BAND.get(of, FAMILY_PERCENT)))[1])
            for of, seconds in rows_of(prediction).items()
        }
        file.truncate(0)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name in sorted(table):
            writer.writerows(
                (name, of, repr(seconds), f"{tolerance:g}") for of, (seconds, tolerance) in table[name].items()
            )


def check(scenario, prediction, renew, record_property):
    if renew:
        update(scenario, prediction)
    known = read(TABLE.read_text()).get(scenario) if TABLE.exists() else None
    how = f"e2e/pytest scenarios -k {scenario.split()[0]} --update"
    assert known, f"accuracy.csv has no rows of {scenario}; make them with: {how}"
    found = list(differences(scenario, known, prediction))
    for line, is_beyond in found:
        if not is_beyond:
            record_property("drift", line)
    beyond = [line for line, is_beyond in found if is_beyond]
    assert not beyond, "\n".join([*beyond, f"if the models are meant to say so, renew the table: {how}"])
