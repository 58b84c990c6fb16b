#!/usr/bin/env python3
"""The least mean error that any prediction which grows in every size can have on the published GEMMs.

  least_error.py [services/timing/model/data/gemm_table.csv]

A table that itself shrinks where a size grows cannot be met by a model that never does. For each GPU and type this
solves the linear program over all functions of (batch, m, n, k) that grow along the table's grid: the mean of
|predicted - measured| / measured over all rows, with every row known. Needs NumPy and SciPy.
"""

import collections
import csv
import os
import sys

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

TABLE = os.path.join(os.path.dirname(__file__), "../model/data/gemm_table.csv")


def read(path):
    """Seconds by (gpu, type) and shape; FP8's three mixes of formats are rows of one shape."""
    tables = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            shape = tuple(int(row[size]) for size in ("batch", "m", "n", "k"))
            seconds = 2 * float(np.prod([float(size) for size in shape])) / (float(row["tflops"]) * 1e12)
            tables[row["gpu"], row["type"]][shape].append(seconds)
    return tables


def steps(shapes):
    """Pairs of positions of shapes that differ by one step of the grid in one size."""
    position = {shape: at for at, shape in enumerate(shapes)}
    for axis in range(4):
        values = sorted({shape[axis] for shape in shapes})
        following = dict(zip(values, values[1:]))
        for shape in shapes:
            if shape[axis] not in following:
                continue
            larger = shape[:axis] + (following[shape[axis]],) + shape[axis + 1 :]
            if larger in position:
                yield position[shape], position[larger]


def least_error(table):
    shapes = sorted(table)
    rows = [(at, seconds) for at, shape in enumerate(shapes) for seconds in table[shape]]
    grows = list(steps(shapes))
    # Unknowns: the prediction of each shape, in units of its first measurement, and each row's error.
    unit = [table[shape][0] for shape in shapes]
    bounds = lil_matrix((2 * len(rows) + len(grows), len(shapes) + len(rows)))
    limits = np.zeros(bounds.shape[0])
    for number, (at, seconds) in enumerate(rows):
        for line, sign in ((2 * number, 1), (2 * number + 1, -1)):
            bounds[line, at] = sign * unit[at] / seconds
            bounds[line, len(shapes) + number] = -1
            limits[line] = sign
    for number, (smaller, larger) in enumerate(grows):
        bounds[2 * len(rows) + number, smaller] = 1
        bounds[2 * len(rows) + number, larger] = -unit[larger] / unit[smaller]
    cost = np.r_[np.zeros(len(shapes)), np.full(len(rows), 1 / len(rows))]
    return linprog(cost, A_ub=bounds.tocsr(), b_ub=limits, method="highs").fun, len(rows)


def main():
    for (gpu, kind), table in sorted(read(sys.argv[1] if len(sys.argv) > 1 else TABLE).items()):
        error, rows = least_error(table)
        print(f"{gpu:20} {kind:6} {rows:5} rows   {100 * error:.2f} %")


if __name__ == "__main__":
    main()
