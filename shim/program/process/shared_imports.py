# Run by next_program.cc in torchrun's process before it forks, where ranks go on from it: before the first of them,
# imports torch._dynamo, as each rank would do when it makes its optimizer. torchrun itself is left as it was, and
# `shared` says what a rank has to catch up with when it imports the module (next_program.py). `is_done`: not to be run
# again.
import atexit
import os
import re
import sys

# Names in programs that will import torch._dynamo: optimizers, compilation, FSDP, and libraries that do it for them.
IMPORTS_DYNAMO = re.compile(r"\b(optim\w*|\w*compile|fully_shard|FullyShardedDataParallel|\w*Trainer|Accelerator)\b")
# Variables that may be read while torch._dynamo is imported.
OF_DYNAMO = re.compile(r"[\"'](TORCH(?!ELASTIC)|TRITON|PYTORCH_FX)\w*[\"']\s*[\],]")


def program():
    """The text of the script that torchrun's ranks run; nothing where it is none, or one rank's."""
    run = sys.modules.get("torch.distributed.run") or sys.modules["__main__"]
    arguments = run.parse_args(sys.argv[1:])
    if arguments.module or arguments.no_python or arguments.nproc_per_node == "1":
        return ""
    with open(arguments.training_script, encoding="utf-8", errors="replace") as source:
        return source.read()


def import_dynamo():
    before = dict(os.environ)
    registered = []
    register = atexit.register
    atexit.register = lambda function, *words, **names: registered.append((function, words, names)) or function
    try:
        import torch._dynamo  # noqa: F401
    finally:
        atexit.register = register
        added = {name: value for name, value in os.environ.items() if name not in before}
        for name in added:
            del os.environ[name]
    return {"variables": added, "registered": registered}


def is_for_rank():
    """Returns whether what forks is torchrun's own code that starts ranks; there are other children."""
    frame = sys._getframe()
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("torch.distributed.elastic.multi"):
        frame = frame.f_back
    return frame is not None


shared = None
is_done = is_for_rank()
if is_done and (3, 10) <= sys.version_info < (3, 13) and "torch._dynamo" not in sys.modules:
    text = program()
    if IMPORTS_DYNAMO.search(text) and not OF_DYNAMO.search(text):
        shared = import_dynamo()
