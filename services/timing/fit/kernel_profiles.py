#!/usr/bin/env python3
"""Writes services/timing/model/kernel_profiles: published times of attention, fused experts and quantised GEMMs.

    services/timing/fit/kernel_profiles.py FOLDER OUT

FOLDER holds the CSV files of github.com/ai-dynamo/aiconfigurator at the commit below, one folder a family
(attention_context, attention_generation, encoder_attention, moe, gemm) and stacks.csv, which says what kernel each stack
ran. OUT receives GPU.FAMILY.zst, text compressed by zstd: services/timing/model/kernel_rows.h describes it. What is
taken and what is left out: docs/reference/generated/kernel_times.md.
"""

import csv
import gzip
import math
import subprocess
import sys

VERSION = 1
SOURCE = (
    "https://github.com/ai-dynamo/aiconfigurator/tree/095f58a51c4ca8e61b66ec108d86f223f8d559ce/"
    "aic-core/src/aiconfigurator_core/systems/data"
)
GPUS = {
    "A100-SXM4-80GB": "a100_sxm",
    "H100-SXM5-80GB": "h100_sxm",
    "H200-SXM-141GB": "h200_sxm",
    "B200-SXM-180GB": "b200_sxm",
    "GB200": "gb200",
    "B300-SXM-288GB": "b300_sxm",
    "RTX-PRO-6000-Server": "rtx_pro_6000_server",
}
# Bandwidth in GB/s, sustained BF16 rate in GFLOP/s and boost clock in MHz of the GPU model files: the roofline that
# rows are compared with.
ROOFS = {
    "A100-SXM4-80GB": (2039, 271200, 1410),
    "H100-SXM5-80GB": (3350, 794500, 1980),
    "H200-SXM-141GB": (4800, 794500, 1980),
    "B200-SXM-180GB": (7700, 1745000, 1965),
    "GB200": (8000, 1822000, 2062),
    "B300-SXM-288GB": (7750, 1840000, 1920),
    "RTX-PRO-6000-Server": (1792, 417300, 2430),
}
TYPES = {"bfloat16": "bf16"}
# Folder, name of the phase, key columns that name a table, columns of the shape.
FAMILIES = {
    "attention": [
        ("attention_context", "prefill", 4, ("heads", "kv_heads", "batch", "q_len")),
        ("attention_generation", "decode", 4, ("heads", "kv_heads", "batch", "kv_len")),
        ("encoder_attention", "encoder", 1, ("heads", "batch", "q_len")),
    ],
    "moe": [
        (
            "moe",
            "experts",
            2,
            ("hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size", "num_tokens"),
        )
    ],
    "gemm": [("gemm", "gemm", 1, ("m", "n", "k"))],
}
# The newest version of each serving stack, and vLLM 0.19 on H100, which does not write the new keys and values: of its
# FlashAttention 3 the nearest to a program that trains. Those that ran for seconds at the power limit are left out.
STACKS = {
    "attention": {
        "a100_sxm": ["sglang-0.5.10", "trtllm-1.0.0", "vllm-0.14.0"],
        "h100_sxm": ["sglang-0.5.14", "trtllm-1.3.0rc20", "vllm-0.19.0", "vllm-0.24.0"],
        "b300_sxm": ["sglang-0.5.10", "trtllm-1.3.0rc20", "vllm-0.24.0"],
        None: ["sglang-0.5.14", "trtllm-1.3.0rc20", "vllm-0.24.0"],
    },
    "moe": {
        "a100_sxm": ["sglang-0.5.10", "trtllm-1.0.0", "vllm-0.14.0"],
        "b300_sxm": ["sglang-0.5.14", "trtllm-1.3.0rc23", "vllm-0.24.0"],
        None: ["sglang-0.5.14", "trtllm-1.3.0rc20", "vllm-0.24.0"],
    },
    "gemm": {
        "a100_sxm": ["trtllm-1.0.0"],
        "h200_sxm": ["sglang-0.5.14", "trtllm-1.2.0rc5", "trtllm-1.3.0rc20", "vllm-0.24.0"],
        "b300_sxm": ["sglang-0.5.10", "trtllm-1.3.0rc20", "vllm-0.24.0"],
        None: ["sglang-0.5.14", "trtllm-1.3.0rc20", "vllm-0.24.0"],
    },
}
# Steps of the logarithm of a time: half a percent each, less than what repeated measurements differ by.
STEPS = 200
# GEMMs that gemm_profiles.py writes, and those that were called from the host one by one: 30 to 60 us of it in each.
ELSEWHERE = {("bfloat16", "sglang"), ("bfloat16", "trtllm"), ("bfloat16", "vllm"), ("fp8", "trtllm")}
ELSEWHERE |= {("fp8_block", "vllm"), ("fp8_static", "trtllm")}
# Fewer rows than this say little about the shapes between them.
ROWS_MIN = 60


def kernels_of_stacks(folder):
    """Kernel by GPU, family, stack and kind, where a stack ran one kernel in that kind."""
    found = {}
    with open(f"{folder}/stacks.csv", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["gpu"], row["op"], row["stack"], row["kind"]), set()).add(row["kernel_source"])
    return {key: next(iter(kernels)) for key, kernels in found.items() if len(kernels) == 1}


def tables_of(folder, gpu, family, kernels):
    """{(phase, kernel, kind...): {shape: microseconds}} of one GPU."""
    tables = {}
    stacks = STACKS[family].get(gpu, STACKS[family][None])
    for name, phase, keys, shape in FAMILIES[family]:
        try:
            file = gzip.open(f"{folder}/{name}/{gpu}.csv.gz", "rt")
        except FileNotFoundError:
            continue
        with file:
            rows = csv.reader(file)
            header = next(rows)
            columns = [i for i, title in enumerate(header) if title.split(":")[0] in stacks]
            for row in rows:
                kind = row[:keys]
                # Heads, keys' heads and so on; an encoder has as many heads of keys.
                sizes = tuple(int(row[header.index(title)]) for title in shape)
                if phase == "encoder":
                    kind = ["bfloat16", "bfloat16", kind[0], "0"]
                    sizes = (sizes[0], sizes[0], sizes[1], sizes[2])
                for i in columns:
                    if not row[i]:
                        continue
                    kernel = header[i]
                    if family == "gemm" and (kind[0], kernel.split("-")[0]) in ELSEWHERE:
                        continue
                    if ":" not in kernel:
                        known = kernels.get((gpu, name, kernel, published_kind(family, phase, kind)))
                        if known is None:
                            continue
                        kernel = f"{kernel}:{known}"
                    key = (phase, kernel, *(TYPES.get(word, word) for word in kind))
                    tables.setdefault(key, {})[sizes] = float(row[i])
    return {key: table for key, table in tables.items() if len(table) >= ROWS_MIN}


def published_kind(family, phase, kind):
    """Returns what stacks.csv calls the kind of a row."""
    if family != "attention":
        return kind[0]
    return kind[0] if phase == "encoder" else f"{kind[0]}/{kind[1]}"


def text_of(gpu, family, tables):
    """The profile as text."""
    lines = [
        f"eidolon-kernel-rows {VERSION}",
        f"gpu {gpu}",
        f"family {family}",
        "roof {} {} {}".format(*ROOFS[gpu]),
        f"source {SOURCE}",
        "licence Apache-2.0",
    ]
    for key in sorted(tables):
        table = tables[key]
        axis = sorted({sizes[-1] for sizes in table})
        lines.append("table " + " ".join(key))
        lines.append("last " + " ".join(map(str, axis)))
        for before in sorted({sizes[:-1] for sizes in table}):
            words = []
            level = 0
            for size in axis:
                time = table.get((*before, size))
                if time is None:
                    words.append("-")
                    continue
                steps = round(STEPS * math.log(1000 * time))
                words.append(str(steps - level))
                level = steps
            while words[-1] == "-":
                words.pop()
            lines.append(" ".join(map(str, before)) + ":" + " ".join(words))
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kernels = kernels_of_stacks(sys.argv[1])
    for gpu, theirs in GPUS.items():
        for family in FAMILIES:
            tables = tables_of(sys.argv[1], theirs, family, kernels)
            text = text_of(gpu, family, tables)
            path = f"{sys.argv[2]}/{gpu}.{family}.zst"
            command = ["zstd", "-q", "-19", "--long=23", "-f", f"--stream-size={len(text)}", "-o", path]
            subprocess.run(command, input=text.encode(), check=True)
            print(f"{path}: {sum(map(len, tables.values()))} rows in {len(tables)} tables")


if __name__ == "__main__":
    main()
