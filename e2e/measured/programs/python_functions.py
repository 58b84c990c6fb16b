"""What a Python function takes between the operators of a model, on one core; it needs no GPU.

python python_functions.py

The forward pass of a small Llama runs plain, then with functions of four kinds around its modules. Prints a line of JSON for
each kind: how many functions more are called, and microseconds of processor time for one of them, by the second smallest
and the median of 200 times.
"""

import functools
import json
import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
from accelerate.hooks import ModelHook, add_hook_to_module  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

PASSES = 200
SHAPE = dict(
    vocab_size=128,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=16,
    num_attention_heads=2,
    num_key_value_heads=2,
)


class Looking(ModelHook):
    """Looks at the parameters of a module before and after it."""

    def pre_forward(self, module, *args, **kwargs):
        for name, parameter in module.named_parameters(recurse=False):
            self.look(parameter, name)
        return args, kwargs

    def post_forward(self, module, output):
        for parameter in module.parameters(recurse=False):
            self.look(parameter)
        return output

    def look(self, parameter, name=None):
        if getattr(parameter, "grad", None) is not None and parameter.requires_grad:
            return id(parameter)
        return parameter.shape[0]


def accelerates_hooks(model):
    for module in model.modules():
        add_hook_to_module(module, Looking())


def torchs_hooks(model):
    for module in model.modules():
        module.register_forward_pre_hook(lambda module, inputs: None)
        module.register_forward_hook(lambda module, inputs, output: None)


def walks(model):
    def walk(module, inputs):
        for part in model.modules():
            for _, parameter in part.named_parameters(recurse=False):
                parameter.requires_grad  # noqa: B018
        model.train()
        model.state_dict()

    model.register_forward_pre_hook(walk)


def wrappers(model):
    for module in model.modules():
        forward = module.forward
        module.forward = torch.no_grad()(functools.wraps(forward)(lambda *a, f=forward, **k: f(*a, **k)))


def calls_of(step):
    """The Python functions that a step calls, and how often it goes on with a generator."""
    number = 0

    def count(frame, event, argument):
        nonlocal number
        number += event == "call"

    sys.setprofile(count)
    step()
    sys.setprofile(None)
    return number


def took(step):
    begin = time.thread_time_ns()
    step()
    return (time.thread_time_ns() - begin) / 1e3


def stepper(change):
    model = LlamaForCausalLM(LlamaConfig(**SHAPE))
    change(model)
    tokens = torch.randint(0, SHAPE["vocab_size"], (1, 8))

    def step():
        with torch.no_grad():
            model(input_ids=tokens)

    return step


def main():
    torch.set_num_threads(1)
    plain = stepper(lambda model: None)
    for change in (accelerates_hooks, torchs_hooks, walks, wrappers):
        changed = stepper(change)
        # Both run in turns, so that whatever else the machine does concerns both.
        times = [(took(plain), took(changed)) for _ in range(PASSES)]
        without, within = (sorted(column) for column in zip(*times, strict=True))
        calls = calls_of(changed) - calls_of(plain)
        row = dict(kind=change.__name__, calls=calls)
        row["second_smallest_us"] = round((within[1] - without[1]) / calls, 3)
        row["median_us"] = round((statistics.median(within) - statistics.median(without)) / calls, 3)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
