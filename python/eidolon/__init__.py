"""Eidolon predicts how a GPU cluster would run a training job, without the cluster."""

__version__ = "0.1.0"
