"""The pages of what was measured on a GPU beside what is predicted of it. Used by run."""

import csv
import gzip
import itertools
import json
import math
import re
import statistics

# Cases whose kernels the timing service measured on that GPU (h200/profile.jsonl.gz).
PROFILED = (
    "gpt2 124M b16 t1024",
    "hf bert base b32 t512",
    "resnet50 b256 fp16 channels last",
    "vit_b_16 b128 bf16",
    "convnext_tiny b64 bf16 channels last",
    "lstm 1024 x 2 b64 t256 fp32",
    "mlp 4096 x 16 fp32 foreach=False",
    "gpt2 124M b16 t1024 compiled",
)
# Kernels of these steps gave constants; those of the others gave none.
FITTED = (
    "gpt2 124M b1 t128",
    "gpt2 124M b4 t512",
    "gpt2 124M b16 t1024",
    "gpt2 1.5B b4 t1024",
    "hf bert base b32 t512",
)
FITTED += ("hf gpt2 b8 t1024", "hf llama 1B b1 t512 bf16 parameters", "vit_b_16 b128 bf16", "resnet50 b64 fp32")
FITTED += ("resnet50 b256 fp16 channels last", "convnext_tiny b64 bf16 channels last", "lstm 1024 x 2 b64 t256 fp32")
LONG_US = 20
HOST_BOUND = 0.85  # The GPU is busy for less than this share of a step.


def name_of(row):
    """An operation's description, without the state of the cache, as one string."""
    said = {key: value for key, value in row.items() if key not in ("kernels", "cache")}
    return row["cache"] + " " + json.dumps(said, sort_keys=True)


def description_of(row):
    """An operation of scattered.py as one string."""
    said = {key: value for key, value in row.items() if key not in ("kernels", "us", "op")}
    return f"{row['op']} {json.dumps(said, sort_keys=True)}"


def sum_in(row, key):
    return sum(kernel[key] for kernel in row["kernels"])


def sum_of(row):
    return sum_in(row, "median_ns")


def step_of(row):
    return f"{row['step']} {row['mode']}"


def times_of(row):
    return {"wall_ms": row["wall_ms"], "busy_ms": sum(kernel["ns"] for kernel in row["two_steps"]) / 2e6}


def busy_ns(work):
    """Nanoseconds in which any of these runs, each a begin and a duration."""
    busy, end = 0, 0
    for begin, ns in sorted(work):
        busy += max(0, begin + ns - max(begin, end))
        end = max(end, begin + ns)
    return busy


def load(folder, name):
    with open(folder / name) as file:
        return json.load(file)


def measured_steps(folder):
    with open(folder / "steps.jsonl") as file:
        rows = {row["case"]: row for row in map(json.loads, file)}
    with gzip.open(folder / "step_traces.jsonl.gz", "rt") as file:
        for trace in map(json.loads, file):
            rows[trace["case"]]["busy_ms"] = sum(work[2] for work in trace["work"]) / 2e6
    return rows


def summary(errors):
    absolute = sorted(map(abs, errors))
    worst = absolute[min(len(absolute) - 1, len(absolute) * 9 // 10)]
    return (
        f"{len(errors)} | {statistics.mean(absolute):.1%} | {statistics.median(absolute):.1%} | "
        f"{statistics.mean(errors):+.1%} | {worst:.1%}"
    )


def heads(what, number):
    yield f"| {what} | {number} | mean of absolute errors | median | bias | 90 % within |"
    yield "| --- | --- | --- | --- | --- | --- |"


def step_table(folder):
    measured, predicted = measured_steps(folder), load(folder, "predicted/steps.json")
    # Kernels were measured by the timing service on one of the GPUs alone.
    has_profile = (folder / "predicted/profile.json").exists()
    profiled = load(folder, "predicted/profile.json") if has_profile else {}
    yield "| step | measured ms | GPU busy ms | busy by the models | error | step by the models | step by measured kernels |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    errors = {True: [], False: []}
    for case, row in measured.items():
        if "failed" in row or case not in predicted:
            continue
        error = predicted[case]["busy_ms"] / row["busy_ms"] - 1
        errors[case in FITTED].append(error)
        host = row["busy_ms"] < HOST_BOUND * row["free_ms"]
        step, own = "host-bound", ""
        if not host:
            step = f"{predicted[case]['free_ms']:.1f} ({predicted[case]['free_ms'] / row['free_ms'] - 1:+.1%})"
        if case in profiled:
            own = f"{profiled[case]['free_ms']:.1f} ({profiled[case]['free_ms'] / row['free_ms'] - 1:+.1%})"
        yield (
            f"| {case}{' *' if case in FITTED else ''} | {row['free_ms']:.1f} | {row['busy_ms']:.1f} | "
            f"{predicted[case]['busy_ms']:.1f} | {error:+.1%} | {step} | {own} |"
        )
    yield ""
    yield from heads("busy time", "steps")
    yield f"| with kernels that gave constants (*) | {summary(errors[True])} |"
    yield f"| without | {summary(errors[False])} |"


def model_rows(folder):
    """Each step of a model that was timed and predicted, with the milliseconds in which its kernels ran."""
    predicted = load(folder, "predicted/models.json")
    with open(folder / "models.jsonl") as file:
        rows = {row["case"]: row for row in map(json.loads, file)}
    with gzip.open(folder / "model_traces.jsonl.gz", "rt") as file:
        for trace in map(json.loads, file):
            begins = itertools.accumulate(work[1] for work in trace["work"])
            durations = (work[2] for work in trace["work"])
            rows[trace["case"]]["busy_ms"] = busy_ns(zip(begins, durations, strict=True)) / 1e6
    return [(row, predicted[case]) for case, row in rows.items() if "busy_ms" in predicted.get(case, {})]


def model_table(folder):
    yield "| step | quickest measured ms | predicted ms | kernels run, measured ms | predicted ms | error | peak memory |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    errors, of_steps = [], []
    for real, guess in model_rows(folder):
        least = min(real["least_ms"], real["free_ms"])
        errors.append(guess["busy_ms"] / real["busy_ms"] - 1)
        memory = guess["peak_allocated"] / real["peak_allocated"] - 1
        step = "host-bound"
        if real["busy_ms"] >= HOST_BOUND * least:
            of_steps.append(guess["free_ms"] / least - 1)
            step = f"{guess['free_ms']:.1f} ({of_steps[-1]:+.1%})"
        yield (
            f"| {real['case']} | {least:.1f} | {step} | {real['busy_ms']:.1f} | {guess['busy_ms']:.1f} | "
            f"{errors[-1]:+.1%} | {memory:+.2%} |"
        )
    yield ""
    yield from heads("time", "steps")
    yield f"| kernels | {summary(errors)} |"
    yield f"| steps that the GPU decides | {summary(of_steps)} |"


def recorded_table(folder):
    predicted = load(folder, "predicted/recorded.json")
    yield "| step | measured ms | predicted ms | error | GPU busy ms | predicted ms | error |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    with gzip.open(folder / "step_kernels.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            real, guess = times_of(row), predicted.get(step_of(row))
            if guess is None:
                continue
            cells = [
                f"{real[key]:.1f} | {guess[key]:.1f} | {guess[key] / real[key] - 1:+.1%}"
                for key in ("wall_ms", "busy_ms")
            ]
            yield f"| {step_of(row)} | {cells[0]} | {cells[1]} |"


def operator_table(folder):
    with open(folder / "operators.csv", newline="") as file:
        measured = {row["operator"]: float(row["microseconds"]) for row in csv.DictReader(file)}
    predicted = load(folder, "predicted/operators.json")
    published = r"wan |owlv2 |timesformer |bert |falconsai |qwen |kernelbench "
    groups = {"published operators": [], "kernels in Triton, by torch.compile, and others": []}
    rows = []
    for name, us in measured.items():
        error = predicted[name] / us - 1
        groups[list(groups)[0 if re.match(published, name) else 1]].append(error)
        rows.append((abs(error), name, us, predicted[name]))
    yield from heads("operators", "number")
    for name, errors in groups.items():
        yield f"| {name} | {summary(errors)} |"
    yield "\nThe furthest off:\n\n| operator | measured us | predicted us | error |\n| --- | --- | --- | --- |"
    for _, name, us, guess in sorted(rows, reverse=True)[:25]:
        yield f"| {name} | {us:.1f} | {guess:.1f} | {guess / us - 1:+.1%} |"


def kernel_table(folder, part="kernels"):
    predicted = load(folder, f"predicted/{part}.json")
    groups = {}
    with gzip.open(folder / f"{part}.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            name, ns = name_of(row), sum_of(row)
            if ns < LONG_US * 1e3 or not predicted.get(name):
                continue
            key = " ".join(str(row[k]) for k in ("op", "backend", "dtype") if k in row).replace("torch.", "")
            groups.setdefault(key, {}).setdefault(row["cache"], []).append(predicted[name] / ns - 1)
    yield "| operation | number | mean of absolute errors, cold L2 | bias | warm L2 | bias |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key, states in sorted(groups.items()):
        cells = []
        for state in ("cold", "warm"):
            errors = states.get(state)
            cells.append(
                f"{statistics.mean(map(abs, errors)):.1%} | {statistics.mean(errors):+.1%}" if errors else " | "
            )
        yield f"| {key} | {max(map(len, states.values()))} | {cells[0]} | {cells[1]} |"


def scattered_table(folder):
    predicted = load(folder, "predicted/scattered.json")
    groups = {}
    with gzip.open(folder / "scattered.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            if "failed" in row or any("failed" in kernel for kernel in row["kernels"]):
                continue
            guess = predicted.get(description_of(row))
            if not guess:
                continue
            ns = sum_in(row, "ns")
            groups.setdefault(row["op"], {}).setdefault(ns >= LONG_US * 1e3, []).append(guess * 1e3 / ns - 1)
    yield f"| operator | number | {LONG_US} us and more: mean of absolute errors | bias | number | shorter: mean | bias |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for op, halves in sorted(groups.items()):
        cells = []
        for long in (True, False):
            errors = halves.get(long)
            mean = f"{statistics.mean(map(abs, errors)):.1%} | {statistics.mean(errors):+.1%}" if errors else " | "
            cells.append(f"{len(errors or ())} | {mean}")
        yield f"| {op} | {cells[0]} | {cells[1]} |"


def convolution_rows(folder):
    """Rows of convolutions.py with their errors: each layer's place among the layers, too."""
    predicted, place, last = load(folder, "predicted/convolutions.json"), -1, None
    with gzip.open(folder / "convolutions.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            layer = {key: value for key, value in row.items() if key not in ("pass", "us", "kernels")}
            place, last = place + (row["op"] == "convolution" and layer != last), layer
            guess = predicted.get(description_of(row))
            if guess and "failed" not in row and all("failed" not in kernel for kernel in row["kernels"]):
                yield row, place, guess * 1e3 / sum_in(row, "ns") - 1


def arithmetic_of(row):
    """Returns what a convolution multiplies: 16 bits, TF32 or single precision."""
    if row["dtype"] != "float32":
        return "16 bits"
    return "TF32" if row["tf32"] else "FP32"


def kinds_of(row):
    """Returns the features that set a layer apart, most special first."""
    window = math.prod(row["kernel"])
    yield "all"
    yield f"{row['pass']}, {arithmetic_of(row)}"
    kinds = {
        "a filter for each channel": row["groups"] > 1,
        "transposed": row["transposed"],
        "windows of more than 27 places": window > 27,
        "one place": window == 1,
        "three or four channels or filters": min(row["c"], row["k"]) < 8,
    }
    yield next((kind for kind, found in kinds.items() if found), f"other windows in {row['dims']}-D")
    yield "channels last" if row["channels_last"] else "channels first"


def convolution_table(folder):
    groups = {}
    for row, place, error in convolution_rows(folder):
        if row["op"] == "convolution":
            for kind in kinds_of(row):
                groups.setdefault(kind, ([], []))[place % 2].append(error)
    yield (
        "| convolutions | gave constants | mean of absolute errors | median | bias "
        "| others | mean of absolute errors | median | bias |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for kind, halves in sorted(groups.items()):
        yield f"| {kind} | {' | '.join(brief(errors) for errors in halves)} |"


def brief(errors):
    if not errors:
        return "0 | | | "
    absolute = list(map(abs, errors))
    spread = f"{statistics.mean(absolute):.1%} | {statistics.median(absolute):.1%}"
    return f"{len(errors)} | {spread} | {statistics.mean(errors):+.1%}"


def picture_table(folder):
    groups = {}
    for row, _, error in convolution_rows(folder):
        if row["op"] != "convolution":
            last = {True: ", channels last", False: ", channels first"}.get(row.get("channels_last"), "")
            groups.setdefault(f"{row['op']} {row['dtype']}{last}", []).append(error)
    yield "| forward and backward | number | mean of absolute errors | median | bias |\n| --- | --- | --- | --- | --- |"
    for kind, errors in sorted(groups.items()):
        yield f"| {kind} | {brief(errors)} |"


# Kernels whose times a model or a table gives; of the others nobody has measured any.
KNOWN = re.compile(r"at::native|^(Mem|nvjet|gemm|cutlass|void cutlass|void cublas|triton_tem_)")


def of_names(kernels):
    """Durations of each name's kernels, in order."""
    names = {}
    for name, ns in kernels:
        names.setdefault(name, []).append(ns)
    return names


def others_errors(folder):
    """Errors of operators, and of their kernels that no model knows, by name."""
    predicted = load(folder, "predicted/others.json")
    operators, kernels = {}, {}
    with gzip.open(folder / "others.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            guesses = predicted.get(description_of(row))
            if not guesses or "failed" in row:
                continue
            if sum_in(row, "ns") >= LONG_US * 1e3:
                error = sum(ns for _, ns in guesses) / sum_in(row, "ns") - 1
                operators.setdefault(row["op"], []).append(error)
            guessed = of_names(guesses)
            for name, real in of_names((kernel["name"], kernel["ns"]) for kernel in row["kernels"]).items():
                if not KNOWN.search(name) and len(real) == len(guessed.get(name, ())):
                    short = re.match(r"(?:void )?([\w:]+)", name)[1]
                    errors = [
                        guess / ns - 1 for guess, ns in zip(guessed[name], real, strict=True) if ns >= LONG_US * 1e3
                    ]
                    kernels.setdefault(short, []).extend(errors)
    return operators, kernels


def others_table(folder):
    for what, groups in zip(("operator", "kernel"), others_errors(folder), strict=True):
        yield f"| {what} | number | mean of absolute errors | median | bias |\n| --- | --- | --- | --- | --- |"
        for name, errors in sorted(groups.items()):
            if errors:
                yield f"| {name} | {brief(errors)} |"
        yield f"| all | {brief([error for errors in groups.values() for error in errors])} |"
        yield ""


def step_call_table(folder):
    """Returns the table of calls within steps, and of the program's own work between them, here and emulated on the
    same machine."""
    shown = {
        "__cudaLaunchKernel": "launch",
        "cublasGemmEx": "cuBLAS",
        "cublasSgemm_v2": "cuBLAS",
        "cublasLtMatmul": "cuBLASLt",
        "cudnnBackendExecute": "cuDNN",
    }
    yield (
        "| step | measured ms | in calls | between calls | the same, emulated there | launch us | cuBLAS | cuBLASLt "
        "| cuDNN |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    with open(folder / "calls.jsonl") as file:
        for row in map(json.loads, file):
            calls = {name: call for name, call in row["calls"].items() if name != "cudaDeviceSynchronize"}
            each = dict.fromkeys(("launch", "cuBLAS", "cuBLASLt", "cuDNN"), "")
            for name, kind in shown.items():
                if name in calls and calls[name]["number"] > 2:
                    each[kind] = f"{calls[name]['sum_us'] / calls[name]['number']:.1f}"
            emulated = row.get("emulated_between_ms")
            cells = [
                f"{row['wall_ms']:.1f}",
                f"{sum(call['sum_us'] for call in calls.values()) / 1e3:.1f}",
                f"{statistics.median(row['between_ms']):.1f}",
                f"{statistics.median(emulated):.1f}" if emulated else "",
                *each.values(),
            ]
            yield f"| {row['case']} | {' | '.join(cells)} |"


# Operations of which some sizes gave constants, and which those are.
CONSTANTS = {
    "zero_": ("256 M", lambda row: row["n"] == 1 << 28),
    "index_select": ("rows of 8 KiB", lambda row: row["c"] == 4096),
    "embedding_fwd_bwd": ("rows of 768", lambda row: row["c"] == 768),
    "index_add_": ("rows of 4096 and 5120", lambda row: row["c"] > 768),
    "cumsum": ("256 M", lambda row: row["n"] == 1 << 28),
    "sort": ("4 M", lambda row: row["n"] >= 1 << 22),
    "topk": ("rows of float32", lambda row: row["dtype"] == "torch.float32"),
    "sum": ("256 M", lambda row: row["n"] == 1 << 28),
    "sum_dim": ("256 M", lambda row: row["n"] == 1 << 28),
    "amax": ("256 M", lambda row: row["n"] == 1 << 28),
}


def tested_table(folder):
    """Kernels of both states of the cache, of 20 us and more."""
    predicted = load(folder, "predicted/kernels.json")
    errors = {operation: {True: [], False: []} for operation in CONSTANTS}
    with gzip.open(folder / "kernels.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            name, ns = name_of(row), sum_of(row)
            if row["op"] not in CONSTANTS or ns < LONG_US * 1e3 or not predicted.get(name):
                continue
            _, gave = CONSTANTS[row["op"]]
            errors[row["op"]][gave(row)].append(abs(predicted[name] / ns - 1))
    yield "| operation | gave constants | number | mean of absolute errors | others | mean of absolute errors |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for operation, (what, _) in CONSTANTS.items():
        cells = [
            f"{len(found)} | {statistics.mean(found):.1%}" if found else "0 | " for found in errors[operation].values()
        ]
        yield f"| {operation} | {what} | {cells[0]} | {cells[1]} |"


def call_table(folder):
    yield "| call | least ns | median ns |\n| --- | --- | --- |"
    with open(folder / "host.jsonl") as file:
        for row in map(json.loads, file):
            if "call" in row or "gpu" in row:
                what = row.get("call") or row["gpu"] + " (on the GPU)"
                yield f"| {what} | {row['least_ns']} | {row['median_ns']} |"


TABLES = {
    "tested": tested_table,
    "steps": step_table,
    "recorded": recorded_table,
    "operators": operator_table,
    "kernels": kernel_table,
    "calls": call_table,
    "scattered": scattered_table,
    "calls in steps": step_call_table,
    "convolutions": convolution_table,
    "pictures": picture_table,
    "others": others_table,
    "models": model_table,
    "gemms": lambda folder: kernel_table(folder, "gemms"),
    "attention": lambda folder: kernel_table(folder, "attention"),
}


def text(folder):
    page = (folder / "introduction.md").read_text()
    for name, table in TABLES.items():
        if f"[[{name}]]" in page:
            page = page.replace(f"[[{name}]]", "\n".join(table(folder)))
    return page
