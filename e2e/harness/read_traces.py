"""Reads traces of torch.profiler with what their users read them with, and prints what it says as JSON.

    read_traces.py FOLDER     FOLDER/rankN*.pt.trace.json, of ranks 0, 1, ...

Runs in the environment of `e2e/trace_tools`: Holistic Trace Analysis (HTA) and TensorBoard's plugin, both as published.
"""

import json
import os
import pathlib
import sys
import tempfile
import warnings

# HTA rounds times down to microseconds by itself, and makes short events last -1 us.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")


def rows(frame):
    return json.loads(frame.reset_index().to_json(orient="records"))


def ask_hta(traces):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(
        trace_files=dict(enumerate(map(str, traces))), trace_dir="/", include_last_profiler_step=True
    )
    ranks = list(range(len(traces)))
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000, duration_ratio=1.0)
    bandwidth = analysis.get_memory_bw_summary(ranks=ranks)["memory_bw_gbps"]
    launches = analysis.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False)
    graph, found = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
    path = graph.get_critical_path_breakdown()
    return {
        "steps": [int(step) for step in analysis.get_profiler_steps()],
        "temporal": rows(analysis.get_temporal_breakdown(visualize=False)),
        "idle": rows(analysis.get_idle_time_breakdown(ranks=ranks, visualize=False)[0]),
        "overlap": rows(analysis.get_comm_comp_overlap(visualize=False)),
        "kinds": rows(kinds),
        "kernels": rows(kernels),
        "queues": rows(analysis.get_queue_length_summary(ranks=ranks)["queue_length"]),
        "bandwidth": rows(bandwidth),
        "launches": {rank: rows(frame) for rank, frame in launches.items()},
        "annotations": rows(analysis.get_gpu_user_annotation_breakdown(visualize=False)),
        "criticalPath": {"found": found, "bound": path.groupby("bound_by").duration.sum().to_dict()},
    }


def ask_plugin(folder):
    """Returns what each view of TensorBoard's plugin shows."""
    from torch_tb_profiler.io.cache import Cache
    from torch_tb_profiler.profiler.loader import RunLoader

    with Cache() as cache:
        run = RunLoader("run", str(folder), cache).load()
    shown = {}
    for worker in run.workers:
        profile = run.get_profile(worker, "1")
        shown[worker] = {"views": [view.display_name for view in profile.views]}
        for part in ("overview", "kernel_pie", "kernel_table", "operation_table_by_name", "gpu_summary", "gpu_info"):
            shown[worker][part] = getattr(profile, part, None)
        for part in ("comm_ops", "steps_to_overlap", "steps_to_wait"):
            shown[worker][part] = getattr(profile, part, None)
        if hasattr(profile, "get_memory_stats"):
            shown[worker]["memory"] = profile.get_memory_stats()
            shown[worker]["memoryCurve"] = profile.get_memory_curve()["metadata"]
    return shown


def written_by_older_pytorch(trace):
    """The plugin is of 2023. It knows calls of the runtime and collectives only by the names that PyTorch and its profiler
    gave them before, and takes a step's shadow on the GPU for another step."""
    events = [event for event in trace["traceEvents"] if event.get("cat") != "gpu_user_annotation"]
    for event in events:
        if event.get("cat") == "cuda_runtime":
            event["cat"] = "Runtime"
        if event.get("cat") == "user_annotation" and event["name"] == "all_reduce":
            event["name"] = "nccl:all_reduce"
    return {**trace, "traceEvents": events}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    traces = sorted(folder.glob("rank*.pt.trace.json"))
    told = os.dup(1)
    os.dup2(2, 1)  # Both talk while they work.
    answer = {"hta": ask_hta(traces), "plugin": ask_plugin(folder)}
    with tempfile.TemporaryDirectory() as older:
        for trace in traces:
            text = json.dumps(written_by_older_pytorch(json.loads(trace.read_text())))
            pathlib.Path(older, trace.name).write_text(text)
        answer["pluginOlder"] = ask_plugin(older)
    with os.fdopen(told, "w") as out:
        json.dump(answer, out)


if __name__ == "__main__":
    main()
