# Run by next_program.cc in a child that torchrun's process has forked for a rank, in place of executing Python
# anew. Says in `why_not` whether it may, without changing anything that a later exec would show; become() then
# makes a program that has just begun of the one that forked.
import gc
import importlib.machinery
import io
import os
import re
import sys
import time

# Variables that torchrun sets for its ranks. Nothing that torchrun imports reads them while it is imported.
OF_RANKS = re.compile(
    r"((LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|TORCHELASTIC_\w+|OMP_NUM_THREADS"
    r"|TORCH_NCCL_ASYNC_ERROR_HANDLING)"
)
# What programs set before they import torch, and torch reads later or never.
READ_LATE = re.compile(
    r"(CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|CUDA_LAUNCH_BLOCKING|(NCCL|TORCH_NCCL|MASTER|HF|TRANSFORMERS|TOKENIZERS"
    r"|WANDB)_\w+|((LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)))"
)
SETS_NAMED = re.compile(r"environ\s*\[\s*[\"'](\w+)[\"']\s*\]\s*=[^=]|environ\.setdefault\(\s*[\"'](\w+)[\"']")
SETS = re.compile(r"environ\s*\[[^]\n]*\]\s*=[^=]|environ\.(update|setdefault|pop|clear)\b|del\s+\w+\.environ|putenv")
# Variables that torch._dynamo and its imports may read while they are imported.
READ_BY_DYNAMO = re.compile(r"(TORCH|PYTORCH_FX)(?!INDUCTOR_CACHE_DIR|_NCCL_)\w*")
IMPORTS_TORCH = re.compile(r"^(from|import)\s+torch\b", re.MULTILINE)
# torchrun's own modules. A program that imports them gets new ones.
LAUNCHER = (
    "torch.distributed.run",
    "torch.distributed.argparse_util",
    "torch.distributed.launcher",
    "torch.distributed.elastic",
    "torch.numa",
)

# Given, all bytes: what exec was to get, and the environment with which this process began.
command, variables, began_with = (globals()[name] for name in ("command", "variables", "began_with"))
shared = globals()["shared"]  # What came of shared_imports.py; None where torch._dynamo was not imported.
kept = []  # Never given back: descriptors that they would close have other owners now.


def by_name(lines):
    return dict(line.split(b"=", 1) for line in lines if b"=" in line)


def written():
    """Returns the bytes that this process has written so far; None where the system does not count them."""
    try:
        with open("/proc/self/io") as file:
            return re.search(r"wchar: (\d+)", file.read()).group(1)
    except (OSError, AttributeError):
        return None


def is_launcher(name):
    return any(name == module or name.startswith(module + ".") for module in LAUNCHER)


def is_torchrun():
    """Whether this is torchrun as its users start it, without options of the interpreter."""
    main = sys.modules["__main__"]
    words = [word for word in sys.orig_argv[1:] if word != "-u"]
    file = getattr(main, "__file__", None) or ""
    if main.__spec__ is not None:
        folder = os.getcwd()
        known = main.__spec__.name == "torch.distributed.run" and words[:1] == ["-m"]
    else:
        folder = os.path.dirname(os.path.realpath(file))
        known = os.path.basename(file) == "torchrun" and not words[0].startswith("-")
    return known and not getattr(sys.flags, "safe_path", False) and sys.path[:1] == [folder]


def is_untouched():
    """Returns whether torchrun has done nothing here that a program of its own would notice."""
    torch = sys.modules["torch"]
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    return not (
        sys.gettrace()
        or sys.getprofile()
        or (tracker is not None and tracker._resource_tracker._fd is not None)
        or torch.cuda.is_initialized()
        or torch.distributed.is_initialized()
    )


def other_variables():
    """Names of the rank's variables that this process did not begin with, but for those that torchrun adds."""
    began, wanted = by_name(began_with), by_name(variables)
    differing = {os.fsdecode(name) for name in began.keys() | wanted.keys() if began.get(name) != wanted.get(name)}
    return ", ".join(sorted(name for name in differing if not OF_RANKS.fullmatch(name)))


def source_of(module):
    """The file of a module, which is not imported for it. None: another loader finds it, if any does."""
    stem = module.replace(".", "/")
    for folder in [os.getcwd(), *sys.path[1:]]:
        for file in (f"{stem}.py", f"{stem}/__main__.py"):
            if os.path.isfile(os.path.join(folder, file)):
                return os.path.join(folder, file)
    return None


def sets_variables_first(file):
    """Returns whether a program sets variables, before it imports torch, that torch may read when it is imported."""
    with open(file, encoding="utf-8", errors="replace") as source:
        text = source.read()
    found = IMPORTS_TORCH.search(text)
    text = text[: found.start()] if found else text
    named = [match.group(1) or match.group(2) for match in SETS_NAMED.finditer(text)]
    return len(named) < len(SETS.findall(text)) or not all(READ_LATE.fullmatch(name) for name in named)


class Plan:
    """What the command line asks for; `file` is None where it is not understood."""

    def __init__(self, words):
        self.file = self.module = self.script = None
        self.is_unbuffered = words[1:2] == ["-u"] or bool(by_name(variables).get(b"PYTHONUNBUFFERED"))
        rest = words[2:] if words[1:2] == ["-u"] else words[1:]
        if words[0] != sys.executable or not rest:
            return
        if rest[0] == "-m":
            self.arguments = ["-m", *rest[2:]]
            self.module = rest[1] if len(rest) > 1 else None
            self.file = source_of(self.module) if self.module else None
            self.folder = os.getcwd()
        elif rest[0].endswith(".py") and not rest[0].startswith("-") and os.path.isfile(rest[0]):
            self.arguments = rest
            self.script = self.file = rest[0] if os.path.isabs(rest[0]) else os.path.join(os.getcwd(), rest[0])
            self.folder = os.path.dirname(os.path.realpath(rest[0]))


def refusal():
    """Why this process is not to go on; None: it may."""
    if not (3, 10) <= sys.version_info < (3, 13):  # 3.13 has a main thread's state that cannot be another.
        return "ranks go on with Python 3.10 to 3.12 only"
    if "torch" not in sys.modules or not is_torchrun():
        return "what starts it is not torchrun without options of the interpreter"
    if not is_untouched():
        return "torchrun has done more here than to start ranks"
    if other := other_variables():
        return f"{other} is not what it was when torchrun began"
    if plan.file is None:
        return "what it starts is not a script or module of the same Python"
    if sets_variables_first(plan.file):
        return f"{plan.file} sets variables before it imports torch"
    return None


class TorchWatch:
    """Puts torch back when the program imports it, and notices variables that it was to read then."""

    def __init__(self):
        self.torch = sys.modules.pop("torch")
        self.spec = self.torch.__spec__
        self.putenv, self.unsetenv = os.putenv, os.unsetenv
        self.written = written()
        self.folder = os.getcwd()
        self.missed = set()
        os.putenv, os.unsetenv = self.note_set, self.note_removed
        sys.meta_path.insert(0, self)

    def note_set(self, name, value):
        self.putenv(name, value)
        self.note(name)

    def note_removed(self, name):
        self.unsetenv(name)
        self.note(name)

    def note(self, name):
        if not READ_LATE.fullmatch(os.fsdecode(name)):
            self.missed.add(os.fsdecode(name))

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        spec = importlib.machinery.ModuleSpec("torch", self, origin=self.spec.origin, is_package=True)
        spec.submodule_search_locations = self.spec.submodule_search_locations
        return spec

    def create_module(self, spec):
        os.putenv, os.unsetenv = self.putenv, self.unsetenv
        sys.meta_path.remove(self)
        if self.missed:
            self.begin_anew()
        return self.torch

    def exec_module(self, module):
        module.__spec__ = self.spec

    def begin_anew(self):
        if self.written is not None and self.written == written():
            os.chdir(self.folder)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(command[0], command, by_name(variables))
        say_missed(self.missed, "torch")


class DynamoWatch:
    """Puts torch._dynamo back, where torchrun has imported it for its ranks, when the program imports it."""

    def __init__(self):
        names = [name for name in sys.modules if name == "torch._dynamo" or name.startswith("torch._dynamo.")]
        self.modules = {name: sys.modules.pop(name) for name in names}
        self.spec = self.modules["torch._dynamo"].__spec__
        sys.modules["torch"].__dict__.pop("_dynamo", None)
        self.began_with = self.read()
        sys.meta_path.insert(0, self)

    @staticmethod
    def read():
        return {name: value for name, value in os.environ.items() if READ_BY_DYNAMO.fullmatch(name)}

    def find_spec(self, name, path=None, target=None):
        if name != "torch._dynamo":
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=self.spec.origin, is_package=True)
        spec.submodule_search_locations = self.spec.submodule_search_locations
        return spec

    def create_module(self, spec):
        sys.meta_path.remove(self)
        now = self.read()
        missed = {name for name in now.keys() | self.began_with.keys() if now.get(name) != self.began_with.get(name)}
        if missed:
            say_missed(missed, "torch._dynamo")
        for name, value in shared["variables"].items():
            os.environ.setdefault(name, value)
        for function, words, names in shared["registered"]:
            atexit.register(function, *words, **names)
        return self.modules["torch._dynamo"]

    def exec_module(self, module):
        module.__spec__ = self.spec
        for name, known in self.modules.items():
            sys.modules.setdefault(name, known)


def say_missed(names, module):
    print(
        f"eidolon: this program set {', '.join(sorted(names))} before it imported {module}, which had been imported by"
        " torchrun already and has not seen it: without RANKS_GO_ON ranks begin on their own",
        file=sys.stderr,
    )


def stream(number, mode, old):
    try:
        os.fstat(number)
    except OSError:
        return None
    is_raw = plan.is_unbuffered and mode == "w"
    buffer = open(number, mode + "b", 0 if is_raw else -1, closefd=False)
    raw = buffer if is_raw else buffer.raw
    raw.name = ("<stdin>", "<stdout>", "<stderr>")[number]
    text = io.TextIOWrapper(
        buffer,
        encoding=getattr(old, "encoding", "utf-8"),
        errors=getattr(old, "errors", "strict"),
        newline="\n",
        line_buffering=not plan.is_unbuffered and (raw.isatty() or number == 2),
        write_through=plan.is_unbuffered,
    )
    text.mode = mode
    return text


def renew_streams():
    old = sys.__stdin__, sys.__stdout__, sys.__stderr__
    kept.append((old, sys.stdin, sys.stdout, sys.stderr))
    sys.stdin = sys.__stdin__ = stream(0, "r", old[0])
    sys.stdout = sys.__stdout__ = stream(1, "w", old[1])
    sys.stderr = sys.__stderr__ = stream(2, "w", old[2])
    for reference in logging._handlerList:
        attributes = getattr(reference(), "__dict__", {})
        for before, now in ((old[1], sys.stdout), (old[2], sys.stderr)):
            if before is not None and attributes.get("stream") is before:
                attributes["stream"] = now


def renew_signals():
    sys.modules["faulthandler"].disable()
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def drop_launcher():
    for name in [name for name in sys.modules if is_launcher(name)]:
        kept.append(sys.modules.pop(name))
        parent, _, last = name.rpartition(".")
        if not is_launcher(parent):
            sys.modules[parent].__dict__.pop(last, None)
    loggers = logging.root.manager.loggerDict
    for name in [name for name in loggers if is_launcher(name)]:
        logger = loggers.pop(name)
        kept.append(logger)
        handlers = getattr(logger, "handlers", [])
        logging._handlerList[:] = [known for known in logging._handlerList if known() not in handlers]
    logging._startTime = time.time()


def renew_libraries():
    """Renews the state that libraries keep of the process that they are in."""
    kept.append(dict(weakref.finalize._registry))
    weakref.finalize._registry.clear()
    for module, name in (
        ("multiprocessing.util", "_finalizer_registry"),
        ("multiprocessing.process", "_children"),
        ("subprocess", "_active"),
        ("linecache", "cache"),
    ):
        if module in sys.modules:
            values = getattr(sys.modules[module], name)
            kept.append(values.copy())
            values.clear()
    if hasattr(threading.main_thread(), "_set_tstate_lock"):
        threading.main_thread()._set_tstate_lock()
    sys.modules["torch"].default_generator.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    sys.path_importer_cache.clear()


def renew_threads():
    """OMP_NUM_THREADS, which libraries read as they were loaded."""
    wanted = by_name(variables).get(b"OMP_NUM_THREADS")
    if wanted is None or by_name(began_with).get(b"OMP_NUM_THREADS") == wanted:
        return
    count = int(wanted.split(b",")[0])
    sys.modules["torch"].set_num_threads(count)
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps if "openblas" in line}
    for library in map(ctypes.CDLL, files):
        for prefix, suffix in (("", ""), ("", "64_"), ("scipy_", ""), ("scipy_", "64_")):
            function = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if function is not None:
                function(count)  # Begins threads, if the fork has ended them.
                getattr(library, "blas_thread_shutdown_", int)()


def renew_main():
    main = type(sys)("__main__")
    main.__builtins__ = sys.modules["builtins"]
    main.__loader__ = importlib.machinery.BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    if plan.script is not None:
        main.__file__, main.__cached__ = plan.script, None
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", plan.script)
    kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main


def become():
    gc.freeze()
    for environment in (os.environ._data, posix.environ):
        environment.clear()
        environment.update(by_name(variables))
    sys.orig_argv[:] = [os.fsdecode(word) for word in command]
    sys.argv = plan.arguments
    sys.path[0] = plan.folder
    renew_signals()
    renew_streams()
    drop_launcher()
    renew_libraries()
    renew_threads()
    renew_main()
    if shared is not None:
        atexit.register(gc.unfreeze)  # Triton counts at the end what is left of it.
        DynamoWatch()
    TorchWatch()


plan = Plan([os.fsdecode(word) for word in command])
why_not = refusal()
if why_not is None:  # Nothing is imported before: other programs need not have these.
    import atexit
    import ctypes
    import faulthandler  # noqa: F401
    import logging
    import posix
    import signal
    import threading
    import weakref

    script = None if plan.script is None else os.fsencode(plan.script)
    module = plan.module
else:
    why_not = os.fsencode(why_not)
