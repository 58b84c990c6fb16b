"""Checks whether published steps lie inside the bands of their predictions, and whether the bands are wider than
they need to be.

A band is to hold 90 % of the truths. A row's *reach* is its error over the band's half-width on that side: at most 1
inside. The 90 % quantile of all reaches says by how much all bands together are too wide (below 1) or too narrow.
"""

import math

BAND = 0.90


def band_of(row, measured, result):
    """A row's error, half-width and reach; None where nothing was predicted."""
    band = result.get("iterationSeconds")
    if result["ended"] != "Complete" or not band:
        return None
    steps, truth = row.get("steps", 1), float(measured["iter_s"])
    low, mean, high = (band[key] * steps for key in ("low", "mean", "high"))
    side = high - mean if truth > mean else mean - low
    reach = abs(truth - mean) / side if side > 0 else math.inf
    return {
        "measured": truth,
        "low": low,
        "high": high,
        "error": mean / truth - 1,
        "half": (high - low) / 2 / mean,
        "reach": reach,
        "variant": bool(row.get("variant")),
    }


def quantile(values, share):
    """The smallest value that at least `share` of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)]


def summary(bands):
    """Returns what all bands together say, of rows that ran as published."""
    inside = sum(band["reach"] <= 1 for band in bands)
    return {
        "rows": len(bands),
        "inside": inside,
        "share": inside / len(bands),
        "half": sum(band["half"] for band in bands) / len(bands),
        "error": sum(abs(band["error"]) for band in bands) / len(bands),
        "reach": quantile([band["reach"] for band in bands], BAND),
        "middle": quantile([band["reach"] for band in bands], 0.5),
    }


def section(bands):
    """The page's part, from {row: (host model, band)}."""
    yield "## Bands\n"
    yield (
        "A band is to hold 90 % of the truths. *Reach* is the error over the band's half-width on that side: at most 1 "
        "inside. The counted host model where a row was run with it, as jobs have it by default; rows that differ from "
        "what was published are listed and not counted.\n"
    )
    yield "| row | host | measured s | band s | half-width | error | reach | |"
    yield "|" + " --- |" * 8
    counted = []
    for name, (host, band) in bands.items():
        says = "inside" if band["reach"] <= 1 else "outside"
        if band["variant"]:
            says += ", not counted"
        else:
            counted.append(band)
        yield (
            f"| {name} | {host} | {band['measured']:.3f} | {band['low']:.3f} to {band['high']:.3f} | {band['half']:.1%} | "
            f"{band['error']:+.1%} | {band['reach']:.2f} | {says} |"
        )
    if not counted:
        return
    found = summary(counted)
    yield (
        f"\nInside are {found['inside']} of {found['rows']} rows ({found['share']:.0%}). The mean half-width is "
        f"{found['half']:.1%}, the mean absolute error {found['error']:.1%}. To hold 90 % exactly, all half-widths would "
        f"have to be multiplied by {found['reach']:.2f}; half of the rows reach at most {found['middle']:.2f}.\n"
    )
