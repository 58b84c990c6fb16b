"""How right computed values are: PyTorch's operator database, small samples, CPU against emulated GPU.

    EIDOLON_TRACE_VALUES=1 build/release/probes/eidolon_lone_agent --values build/release/lib \\
        $(e2e/environment)/bin/python e2e/values/check.py [--dtypes float32,int64] [--samples 4] [--ops REGEX]
        [--json FILE]

Every sample of every operator runs on the CPU and on the emulated GPU. Outcomes:

    equal      within the tolerances of torch.testing
    unknown    different, and the shim said that some bytes read are not known
    mismatch   different although the shim took every byte for known: a bug, or a documented difference
    error      the GPU run raised and the CPU run did not
    skipped    the CPU run raised, or the operator draws random numbers or leaves memory as it is
"""
import argparse
import collections
import json
import os
import re
import sys
import tempfile
import types
import unittest
import warnings

import torch

# torch.testing imports it for its own tests; nothing of it is used here.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

RANDOM = re.compile(r"rand|bernoulli|multinomial|normal|dropout|cauchy|exponential|geometric|uniform|empty"
                    r"|rrelu|poisson|gumbel|fractional_max_pool|svd_lowrank|pca_lowrank|as_strided_partial"
                    r"|new_empty|resize|from_file")


class Trace:
    """What the shim writes to standard error, from a mark on."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        sys.stderr.flush()
        self.real = os.dup(2)
        os.dup2(self.file.fileno(), 2)

    def take(self):
        sys.stderr.flush()
        size = os.fstat(self.file.fileno()).st_size
        text = os.pread(self.file.fileno(), size, 0).decode(errors="replace")
        os.ftruncate(self.file.fileno(), 0)
        os.lseek(self.file.fileno(), 0, os.SEEK_SET)
        return text


def to_device(value):
    return tree_map(lambda x: x.detach().cuda() if isinstance(x, torch.Tensor) else x, value)


def detached(value):
    return tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, value)


def compare(expected, actual):
    """None when equal, else a sentence."""
    left, _ = tree_flatten(expected)
    right, _ = tree_flatten(actual)
    if len(left) != len(right):
        return f"{len(left)} results, not {len(right)}"
    for a, b in zip(left, right):
        if isinstance(a, torch.Tensor):
            try:
                torch.testing.assert_close(b.cpu(), a, equal_nan=True, check_stride=False)
            except AssertionError as error:
                return str(error).replace("\n", " ")[:300]
        elif a != b and not (a != a and b != b):
            return f"{b} instead of {a}"
    return None


def blame(text):
    """The kernel that was refused or read something unknown first."""
    for line in text.splitlines():
        match = re.match(r"eidolon values: (refused, .*?|reads unknown|faults at|limit|deadlocks|traps)"
                         r"[ ,:].*?: (_Z\w+|\w+)", line)
        if match:
            return f"{match.group(1)[:60]}: {match.group(2)[:120]}"
    return "library" if "unknown bytes" in text else ""


def run_sample(op, sample, trace):
    arguments = detached((sample.input, sample.args, sample.kwargs))
    try:
        # Operators may change their input: each side gets its own.
        copy = tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, arguments)
        expected = op(copy[0], *copy[1], **copy[2])
    except Exception:
        return "skipped", ""
    trace.take()
    try:
        moved = to_device(arguments)
        moved[2].update({k: "cuda" for k, v in moved[2].items()
                         if k == "device" and str(v).startswith("cpu")})
        actual = op(moved[0], *moved[1], **moved[2])
        actual = tree_map(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, actual)
        difference = compare(expected, actual)
    except Exception as error:
        text = trace.take()
        reason = str(error).replace("\n", " ")[:160]
        return ("unknown" if "unknown bytes" in text else "error"), f"{reason} [{blame(text)}]"
    text = trace.take()
    if difference is None:
        return "equal", ""
    if "unknown bytes" in text:
        return "unknown", blame(text)
    return "mismatch", difference + " | " + re.sub(r"\s+", " ", " ".join(
        re.findall(r"ran 0 after \d+ thread instructions: (\S{0,140})", text)))[:400]


def check(options, trace, out):
    total = collections.Counter()
    rows = []
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if options.ops and not re.search(options.ops, name):
            continue
        for dtype_name in options.dtypes.split(","):
            dtype = getattr(torch, dtype_name)
            if dtype not in op.dtypes or dtype not in op.dtypesIfCUDA:
                continue
            if RANDOM.search(name):
                total["skipped"] += 1
                continue
            torch.manual_seed(0)
            counts, notes = collections.Counter(), {}
            try:
                samples = list(op.sample_inputs("cpu", dtype))[: options.samples]
            except Exception:
                total["skipped"] += 1
                continue
            for sample in samples:
                outcome, note = run_sample(op, sample, trace)
                counts[outcome] += 1
                if note:
                    notes.setdefault(outcome, note)
            total.update(counts)
            row = {"op": name, "dtype": dtype_name, "counts": dict(counts), "notes": notes}
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
    return total, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtypes",
                        default="float32,float16,bfloat16,float64,int64,int32,bool,complex64")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--ops", default="")
    parser.add_argument("--json", default=os.devnull)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    trace = Trace()
    with open(options.json, "w") as out:
        total, rows = check(options, trace, out)
    judged = sum(total[key] for key in ("equal", "unknown", "mismatch", "error"))
    whole = sum(1 for row in rows if set(row["counts"]) <= {"equal", "skipped"})
    print(f"{'outcome':10} {'samples':>8} {'share':>8}")
    for key in ("equal", "unknown", "mismatch", "error"):
        print(f"{key:10} {total[key]:8} {100 * total[key] / max(judged, 1):7.2f}%")
    print(f"{'skipped':10} {total['skipped']:8}")
    print(f"op x dtype with every sample right: {whole} of {len(rows)}")


if __name__ == "__main__":
    main()
