"""The page's part on further published steps: rows of end_to_end_further.csv, with a program or with the reason why not."""


def line_of(name, row, figures, result, steps=1):
    """A row of the table of those that ran."""
    band, cover = result["iterationSeconds"], result["coverage"]
    error, memory = figures["error"], figures["memory_error"]
    return (
        f"| {name}{' (differs)' if row.get('variant') else ''} | {figures['measured']:.4g} | {figures['predicted']:.4g} | "
        f"{error:+.1%} | {band['low'] * steps:.4g} to {band['high'] * steps:.4g} | "
        f"{'-' if memory is None else f'{memory:+.1%}'} | {cover['measured'] + cover['interpolated']:.0%} | "
        f"{cover['assumed']:.2%} | {result['liveRanks']} | {result['wallSeconds']:.0f} |"
    )


def section(rows, measured, results, figures_of, reasons):
    """`rows` are those of the table with a program; `reasons` says why the others have none."""
    yield "## Further published steps\n"
    yield (
        "Steps that others published later: MLPerf's results, AutoModel, Megatron-Bridge, torchao, diffusion. Run with the "
        "counted host model and one live rank of each class, as `e2e/validate --host counted --fold ROW` does. A row that "
        "*differs* was not run as published, as its note below says, and does not count in the mean.\n"
    )
    yield (
        "| row | measured s | predicted s | error | band s | memory | measured kernels | assumed | live ranks | wall s |"
    )
    yield "|" + " --- |" * 10
    errors = []
    for name, row in rows.items():
        result = results[name]
        if not result or result["ended"] != "Complete":
            why = "not run" if not result else f"ended as {result['ended']}"
            yield f"| {name} | {float(measured[row['row']]['iter_s']):.4g} | {why} |" + " - |" * 7
            continue
        figures = figures_of(row, measured[row["row"]], result)
        if not row.get("variant"):
            errors.append(abs(figures["error"]))
        yield line_of(name, row, figures, result, row.get("steps", 1))
    if errors:
        yield (
            f"\nMean of the absolute errors over the {len(errors)} rows that ran as published: "
            f"{sum(errors) / len(errors):.1%}, largest {max(errors):.1%}.\n"
        )
    yield "### Rows without a program\n"
    yield "| row | measured s | why |\n| --- | --- | --- |"
    having = {row["row"] for row in rows.values()}
    for name, truth in measured.items():
        if truth["further"] and name not in having:
            yield f"| {name} | {float(truth['iter_s']):.4g} | {reasons[name]} |"
    yield ""
