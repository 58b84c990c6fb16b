"""The page of counted kernels: published operators whose kernels' times follow from their code alone, models switched off
(`eidolon up --count-all-kernels`). Operators of libraries are left out, because their calls choose no kernel here, and so
are those whose kernels cannot be counted: a model has answered, to the same time as ever."""

import csv

LIBRARIES = ("cuBLAS", "CUTLASS", "cuDNN", "convolution")
SAME = 0.0001


def section(rows, modelled, commit):
    """Lines of the table. `rows`: (row, kind, predicted, error) by validate's operators_of; `modelled`: microseconds of each
    operator by the models."""
    counted, refused = [], []
    for row, _, predicted, error in rows:
        if row["other_kernel"] or any(word in row["kernels"] for word in LIBRARIES):
            continue
        gap = predicted - modelled[row["id"]]
        same = abs(gap) < SAME * predicted and float(row["measured_us"]) > 1000
        (refused if same else counted).append((row, predicted, error))
    yield "## Published operators, models switched off\n"
    yield (
        "Written by `e2e/validate --operators --counted`: the operators of [operators.md](operators.md) on H100 that run "
        "PyTorch's own kernels. The window of neighbouring blocks and the rate of HMMA were chosen or "
        "mended with these rows in sight; no row was held out.\n"
    )
    errors = sorted(abs(error) for _, _, error in counted)
    bias = sum(error for _, _, error in counted) / len(counted)
    yield (
        f"{len(errors)} operators: mean of the absolute errors {sum(errors) / len(errors):.1%}, median "
        f"{errors[len(errors) // 2]:.1%}, bias {bias:+.1%}, largest {errors[-1]:.1%}.\n"
    )
    attention = [abs(error) for row, _, error in counted if "Attention" in row["kernels"]]
    yield f"Of these {len(attention)} of attention: mean {sum(attention) / len(attention):.1%}.\n"
    yield "| operator | kernels | measured us | counted us | error |\n| --- | --- | --- | --- | --- |"
    for row, predicted, error in counted:
        yield f"| {row['id']} | {row['kernels']} | {float(row['measured_us']):.1f} | {predicted:.1f} | {error:+.1%} |"
    yield "\nNot counted, because a block is too long: " + ", ".join(row["id"] for row, _, _ in refused) + ".\n"
    yield f"Run at commit {commit}."


def attention_section(published, microseconds, gap, commit):
    """Lines of the table of FlashAttention 2 beside the FlashAttention-3 paper's figure. `published`: text of
    services/timing/model/data/attention_table.csv; `gap`: microseconds between launches, which the predictions hold."""
    yield "\n## Published attention, models switched off\n"
    yield (
        "Written by the same command: FlashAttention 2's forward pass of 16384 tokens of 2048 numbers on H100, published as "
        "TFLOP/s (FlashAttention-3 paper, arXiv 2407.08608). The paper's kernels are those of flash-attn, the counted ones "
        "of PyTorch. No rule was chosen with these rows in sight, but GPU, kernel and most shapes are those of the "
        "recordings that were. The longest sequences without a mask are too long to count.\n"
    )
    yield from attention_table("FA2", published, microseconds, gap)
    yield f"\nRun at commit {commit}."


def newest_attention_section(published, microseconds, gap, commit):
    """Lines of the table of FlashAttention 4 beside FlashAttention 3; the arguments are those above."""
    yield "\n## FlashAttention 4\n"
    yield (
        "Written by the same command: the forward pass of the package flash-attn-4 (4.0.0b36, CuTe DSL) for Hopper, in the "
        "shapes above, beside FlashAttention 3's, whose structure its kernels have (a warp group that brings the data by "
        "TMA, others that multiply by WGMMA and take turns). No published figure of FlashAttention 4 on H100 was found. No "
        "number was fitted to these rows; the rules for warp groups were written with one shape in sight (causal, 4096). "
        "Blocks of 256 numbers a head and 16384 tokens are too long to count.\n"
    )
    yield from attention_table("FA4", published, microseconds, gap)
    yield f"\nRun at commit {commit}."


def attention_table(implementation, published, microseconds, gap):
    """Lines of a table of forward passes of 16384 tokens of 2048 numbers."""
    tokens, width = 16384, 2048
    rows, errors = [], []
    for row in csv.DictReader(line for line in published.splitlines() if not line.startswith("#")):
        size, causal, length = (int(row[key]) for key in ("head_size", "causal", "length"))
        name = f"{implementation} {size} {causal} {length}"
        if row.get("implementation", implementation) != implementation or name not in microseconds:
            continue
        measured = 4 * length * tokens * width / (2 if causal else 1) / float(row["tflops"]) / 1e6
        found = microseconds[name] - gap
        errors.append(found / measured - 1)
        mask = "causal" if causal else "none"
        rows.append(f"| {size} | {mask} | {length} | {measured:.1f} | {found:.1f} | {errors[-1]:+.1%} |")
    yield (
        f"{len(rows)} shapes: mean of the absolute errors {sum(map(abs, errors)) / len(errors):.1%}, bias "
        f"{sum(errors) / len(errors):+.1%}, largest {max(map(abs, errors)):.1%}.\n"
    )
    yield "| head size | mask | length | published us | counted us | error |\n| --- | --- | --- | --- | --- | --- |"
    yield from rows
