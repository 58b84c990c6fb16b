"""Checks computed values: PyTorch's operator database, small samples, CPU against emulated GPU.

    eidolon values check -- [--dtypes float32,int64] [--samples 4] [--ops REGEX] [--json FILE] [--table FILE]

runs this program under the shim. Every sample of every operator runs on the CPU and on the emulated GPU:

    equal      within the tolerances of torch.testing; or, next to the result in a wider type, with an error of
               at most four times the CPU's; or other indices of equal values
    documented different as stated in DOCUMENTED below
    library    different, and the shim said that a value read depends on a library call that is not computed
    unknown    different, and the shim said that some bytes read are not known
    mismatch   different although the shim took every byte for known: a bug
    error      the GPU run raised and the CPU run did not
    skipped    the CPU run raised, PyTorch has no CUDA implementation, or the operator draws random numbers or
               leaves memory as it is
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

RANDOM = re.compile(
    r"rand|bernoulli|multinomial|normal|dropout|cauchy|exponential|geometric|uniform|empty"
    r"|rrelu|poisson|gumbel|fractional_max_pool|svd_lowrank|pca_lowrank|as_strided_partial"
    r"|new_empty|resize|from_file"
)
# Operators with indices of equal values in any order.
TIES = {"sort", "argsort", "msort", "topk", "kthvalue", "mode", "median", "nanmedian"}
# Differences that are not about the emulation: (operator, message) and why.
DOCUMENTED = [
    (
        r"batch_norm|native_layer_norm",
        r"The values for attribute '(shape|dtype)' do not match",
        "PyTorch saves other statistics for the backward pass on CUDA than on the CPU",
    ),
]
ABSENT = re.compile(
    r"Could not run '.*CUDA' backend|is not supported on CUDA|to be on cpu, but it's on cuda"
    r"|not implemented for|only supported on CPU|not supported on GPU"
)
OUTCOMES = ("equal", "documented", "library", "unknown", "mismatch", "error")


class Trace:
    """Output of the shim to standard error, from a mark on."""

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
        match = re.match(
            r"eidolon values: (refused, .*?|reads unknown|faults at|limit|deadlocks|traps)"
            r"[ ,:].*?: (_Z\w+|\w+)",
            line,
        )
        if match:
            return f"{match.group(1)[:60]}: {match.group(2)[:120]}"
    return "library" if "unknown bytes" in text else ""


WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def widened(value):
    return tree_map(
        lambda x: x.to(WIDER[x.dtype])
        if isinstance(x, torch.Tensor) and x.dtype in WIDER
        else WIDER.get(x, x)
        if isinstance(x, torch.dtype)
        else x,
        value,
    )


def as_near_as_the_cpu(op, arguments, expected, actual):
    """Next to the result in a wider type: the largest error is at most four times that of the CPU."""
    left, right = tree_flatten(expected)[0], tree_flatten(actual)[0]
    try:
        exact = widened(arguments)
        reference = tree_flatten(op(exact[0], *exact[1], **exact[2]))[0]
        for ours, cpu, true in zip(right, left, reference):
            if not isinstance(true, torch.Tensor) or true.dtype not in (torch.float32, *WIDER.values()):
                if not isinstance(true, torch.Tensor):
                    continue
                torch.testing.assert_close(ours, cpu, equal_nan=True, check_stride=False)
                continue
            scale = true.abs().nan_to_num(0, 0, 0).max().item() if true.numel() else 0
            error = (cpu.to(true.dtype) - true).abs().nan_to_num(0, 0, 0).max().item() if true.numel() else 0
            bound = max(4 * error, scale * torch.finfo(ours.dtype).eps)
            torch.testing.assert_close(
                ours.to(true.dtype), true, rtol=0, atol=bound, equal_nan=True, check_stride=False
            )
        return any(isinstance(x, torch.Tensor) and x.dtype in WIDER for x in left)
    except Exception:
        return False


def only_ties_differ(name, arguments, expected, actual):
    """The indices are others, and lead to the same values."""
    source, args, kwargs = arguments
    if name.split(".")[0] not in TIES or not isinstance(source, torch.Tensor):
        return False
    wanted, found = tree_flatten(expected)[0], tree_flatten(actual)[0]
    try:
        if name != "mode":
            for a, b in zip(wanted[:-1], found[:-1]):
                torch.testing.assert_close(b, a, equal_nan=True, check_stride=False)
        places = [x for x in args if type(x) is int]
        if name in ("kthvalue", "topk"):
            places = places[1:]
        dim = kwargs.get("dim", places[0] if places else -1)
        first, second = wanted[-1], found[-1]
        if first.dim() < source.dim():
            first, second = first.unsqueeze(dim), second.unsqueeze(dim)
        if name == "mode":  # Any of the values that are there most often.
            counts = [(source == source.take_along_dim(x, dim)).sum(dim) for x in (first, second)]
            return torch.equal(*counts)
        torch.testing.assert_close(
            source.take_along_dim(second, dim), source.take_along_dim(first, dim), equal_nan=True
        )
        return True
    except Exception:
        return False


def run_sample(op, name, sample, trace):
    if sample.kwargs.get("dropout_p") or (
        name == "nn.functional.multi_head_attention_forward" and sample.kwargs.get("training")
    ):
        return "skipped", ""  # Draws random numbers.
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
        moved[2].update({k: "cuda" for k, v in moved[2].items() if k == "device" and str(v).startswith("cpu")})
        actual = op(moved[0], *moved[1], **moved[2])
        actual = tree_map(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, actual)
        difference = compare(expected, actual)
    except Exception as error:
        reason = str(error).replace("\n", " ")[:200]
        if ABSENT.search(reason):
            return "skipped", ""
        text = trace.take()
        return (doubt(text) or "error"), f"{reason} [{blame(text)}]"
    text = trace.take()
    if doubt(text):  # What looks equal then is so by chance.
        return doubt(text), blame(text)
    if difference is None:
        return "equal", ""
    if as_near_as_the_cpu(op, arguments, expected, actual):
        return "equal", "near"
    if only_ties_differ(name, arguments, expected, actual):
        return "equal", "ties"
    for operator, message, reason in DOCUMENTED:
        if re.search(operator, name) and re.search(message, difference):
            return "documented", reason
    return "mismatch", difference + " | " + re.sub(
        r"\s+", " ", " ".join(re.findall(r"ran 0 after \d+ thread instructions: (\S{0,140})", text))
    )[:400]


def doubt(text):
    """Returns what the shim said of bytes that no one knows, if it said anything."""
    if "unknown bytes" not in text:
        return None
    return "library" if "library result" in text else "unknown"


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
            counts, notes, kinds = collections.Counter(), {}, collections.Counter()
            try:
                samples = list(op.sample_inputs("cpu", dtype))[: options.samples]
            except Exception:
                total["skipped"] += 1
                continue
            for sample in samples:
                outcome, note = run_sample(op, name, sample, trace)
                counts[outcome] += 1
                if outcome == "equal" and note:
                    kinds[note] += 1
                elif note:
                    notes.setdefault(outcome, note)
            total.update(counts)
            row = {"op": name, "dtype": dtype_name, "counts": dict(counts), "notes": notes, "kinds": dict(kinds)}
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
    return total, rows


def share(counts, keys):
    judged = sum(counts[key] for key in keys)
    return f"{100 * counts['equal'] / judged:.2f} %" if judged else "-"


def table(total, rows, command):
    """The conformance table as Markdown."""
    by_type = collections.defaultdict(collections.Counter)
    notes = collections.defaultdict(list)
    for row in rows:
        by_type[row["dtype"]].update(row["counts"])
        for outcome, note in row["notes"].items():
            if outcome != "library":
                notes[outcome].append(f"`{row['op']}` {row['dtype']}: {note[:160].replace('|', '/')}")
    lines = [
        "# Conformance of computed values",
        "",
        "PyTorch's operator database on the emulated GPU against the CPU; written by",
        "",
        f"    {command}",
        "",
        'What the outcomes mean is said in `e2e/values/check.py`. "equal" is within the tolerances of',
        "torch.testing, or nearer to the result in a wider type than four times the CPU's largest error (sums in",
        "another order), or other indices of equal values: the second and third are also counted as `near` and",
        "`ties`. A sample that read a byte nobody knows is never equal. The last two columns are the share of",
        "equal samples among those that no library call decides, and among all.",
        "",
        "| type | " + " | ".join(OUTCOMES) + " | computed | all |",
        "| --- |" + " ---: |" * (len(OUTCOMES) + 2),
    ]
    own = [key for key in OUTCOMES if key != "library"]
    for name, counts in [*by_type.items(), ("all", total)]:
        lines.append(
            f"| {name} | "
            + " | ".join(str(counts[key]) for key in OUTCOMES)
            + f" | {share(counts, own)} | {share(counts, OUTCOMES)} |"
        )
    kinds = collections.Counter()
    for row in rows:
        kinds.update(row["kinds"])
    lines += [
        "",
        f"Of the equal ones, {kinds['near']} are near and {kinds['ties']} differ in ties. "
        f"{total['skipped']} samples were skipped.",
    ]
    if kinds["near"]:
        near = [f"`{row['op']}` {row['dtype']}" for row in rows if row["kinds"].get("near")]
        lines += ["", "Near: " + ", ".join(near) + "."]
    for outcome in ("mismatch", "error", "documented", "unknown"):
        if notes[outcome]:
            lines += ["", f"## {outcome}", ""] + [f"- {note}" for note in notes[outcome]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtypes", default="float32,float16,bfloat16,float64,int64,int32,bool,complex64")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--ops", default="")
    parser.add_argument("--json", default=os.devnull, help="write a line for each operator and type")
    parser.add_argument("--table", default="", help="write the table here instead of printing it")
    parser.add_argument("--check", action="store_true", help="end with 1 on a mismatch or an error")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    trace = Trace()
    with open(options.json, "w") as out:
        total, rows = check(options, trace, out)
    text = table(total, rows, "eidolon values check -- " + " ".join(sys.argv[1:]))
    if options.table:
        with open(options.table, "w") as out:
            out.write(text)
    else:
        print(text)
    sys.exit(1 if options.check and total["mismatch"] + total["error"] else 0)


if __name__ == "__main__":
    main()
