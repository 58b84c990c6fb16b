"""Eidolon predicts how a GPU cluster would run a training job, without the cluster.

For notebooks and scripts around a training job; the training script itself needs nothing of this:

    import eidolon

    report = eidolon.predict(["torchrun", "train.py"], gpu="H100-SXM5-80GB", gpus_per_server=8)
    report.throughput, report.iteration_seconds

`sweep` predicts one command on several clusters, `compare` shows two reports beside each other.
"""

from eidolon.predicting import PredictionError, predict, sweep
from eidolon.report import Band, Comparison, Cost, ExtraWork, Finding, Report, Sweep, Throughput, compare

__all__ = [
    "Band",
    "Comparison",
    "Cost",
    "ExtraWork",
    "Finding",
    "PredictionError",
    "Report",
    "Sweep",
    "Throughput",
    "compare",
    "predict",
    "sweep",
]
