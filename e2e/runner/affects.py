"""Which parts of e2e/test a changed file can affect: the first row that matches its path says so.

A row has globs (`*` within a name, `**` over folders, `{a,b}` one of several) and parts. A part that is named runs whole.
`part:word,word` means those of its tests that are about the path: of files test_WORD*.py, or with the parameter WORD (`@`:
the name of the path itself). All other tests, through which what has changed may merely pass as every job passes through
the agent, are sampled. A path that no row matches affects everything. Parts that run whenever something other than
documents has changed are not named. Of `test-release` and what builds again, programs.py chooses the tests by the graph of
the build; `scripts` are those of their tests that run no program.
"""

import functools
import re

DOCUMENTS = "docs pages vocabulary"
BUILT = "build-release headers test-release build-asan test-asan fuzz build-tsan test-tsan"
JOBS = "behaviour behaviour-alone cuda12 scenarios folding"
USERS = "messages docs page wheel torture compatibility kube:first_job"
ROWS = [
    # Documents. Pages with figures that a test compares come first.
    (
        "docs/{kernel_times,timing_accuracy,report_fields,network_*,waiting_calls}.md",
        f"{DOCUMENTS} test-release",
    ),
    ("docs/messages.md", f"{DOCUMENTS} messages"),
    ("docs/metrics.md docs/runbooks/** docs/dashboards/**", f"{DOCUMENTS} metrics dashboards"),
    ("helm/README.md", f"{DOCUMENTS} scripts"),
    ("e2e/README.md", f"{DOCUMENTS} runner-tests"),
    ("**/*.md docs/** LICENSE NOTICE", DOCUMENTS),
    # The build as a whole, and what everything runs in.
    ("CMakeLists.txt CMakePresets.json cmake/** {services,shim}/CMakeLists.txt", "everything"),
    ("e2e/{build,packages,environment,requirements.txt,progress}", "everything"),
    ("e2e/{pytest,pytest.ini,tests.txt}", f"{JOBS} {USERS} runner-tests"),
    ("e2e/{conftest,sampling}.py", f"{JOBS} {USERS} runner-tests"),
    # Every run runs some tests of each part, by whatever the runner has become.
    ("e2e/runner/** e2e/test .ci/run", "runner-tests"),
    # C++: what only its own tests run.
    ("{services,shim}/**/*_fuzz.cc {services,shim}/**/*_corpus/**", "build-asan fuzz"),
    ("{services,shim}/**/*_{test,bench}.{cc,h,py} {services,shim}/**/{testdata/**,test_*.py}", BUILT),
    ("services/testing/** {services,shim}/**/testing/**", BUILT),
    ("services/layers.txt", ""),
    # C++: the tests that are about a room. The controller, from what users see to where jobs are kept:
    ("services/controller/page/**", f"{BUILT} page"),
    ("services/controller/{kube,kube_host,reconcile}/**", f"{BUILT} kube:first_job,turns,deaths"),
    ("services/controller/{rest,http}/**", f"{BUILT} messages kube:api_users behaviour:access page:page"),
    ("services/controller/sweep/**", f"{BUILT} page:page_sweeps behaviour:sweep"),
    ("services/controller/store/**", f"{BUILT} behaviour:disk,sweep kube:job_outputs"),
    ("services/controller/outputs/**", f"{BUILT} kube:job_outputs behaviour:recording,timeline"),
    (
        "services/controller/{shown,metrics}/**",
        f"{BUILT} page:page_report metrics dashboards behaviour:output,comparison",
    ),
    ("services/controller/{agents,simulators}/**", f"{BUILT} behaviour:failure,life kube:first_job"),
    ("services/controller/{job,place}/**", f"{BUILT} messages behaviour:declared,folding kube:first_job,turns"),
    ("services/controller/**", f"{BUILT} messages behaviour:access,life,disk"),
    # The agent, room by room:
    (
        "services/agent/{clock,device}/**",
        f"{BUILT} behaviour:clocks,overlap behaviour-alone:clocks scenarios:ddp,cuda_graphs",
    ),
    ("services/agent/cost/**", f"{BUILT} metrics behaviour:measuring scenarios:ddp,compile"),
    ("services/agent/iteration/**", f"{BUILT} behaviour:iterations scenarios:ddp"),
    ("services/agent/session/token*", f"{BUILT} behaviour:tokens"),
    ("services/agent/session/**", f"{BUILT} behaviour:iterations,memory,folding scenarios:ddp,fsdp2"),
    ("services/agent/timeline/**", f"{BUILT} behaviour:timeline,critical_path"),
    ("services/agent/recording/**", f"{BUILT} behaviour:recording"),
    ("services/agent/launch/**", f"{BUILT} behaviour:launch,program"),
    ("services/agent/rendezvous/**", f"{BUILT} behaviour:rendezvous folding:gloo"),
    ("services/agent/outcome/**", f"{BUILT} behaviour:life,failure messages"),
    ("services/agent/{ring,client}/**", f"{BUILT} behaviour:failure"),
    ("services/agent/job/**", f"{BUILT} behaviour:declared"),
    ("services/agent/**", f"{BUILT} metrics behaviour:life,ranks,failure"),
    # The network and timing services, and what they stand on:
    (
        "services/network/**",
        f"{BUILT} metrics behaviour:fabric,overlap scenarios:ddp,fsdp2,megatron_tp2 folding:ddp,ring",
    ),
    ("services/timing/**", f"{BUILT} metrics behaviour:measuring scenarios:quickstart,transformers_llama,resnet,ddp"),
    ("services/critical_path/**", f"{BUILT} behaviour:critical_path"),
    ("services/recording/**", f"{BUILT} behaviour:recording"),
    ("services/folding/**", f"{BUILT} folding behaviour:folding,ranks"),
    ("services/{cubin,sass,interpret,torch_layout,cudnn_numbers}/**", f"{BUILT} behaviour:values"),
    ("services/host_speed/**", f"{BUILT} behaviour-alone:host_time"),
    ("services/cluster/**", f"{BUILT} messages behaviour:fabric"),
    ("services/yaml/**", f"{BUILT} messages"),
    ("services/process/**", f"{BUILT} behaviour:life,launch"),
    ("services/runtime/**", f"{BUILT} behaviour:access,failure"),
    ("services/{estimate,workload}/**", f"{BUILT} scenarios behaviour:measuring,output"),
    ("services/cli/**", f"{BUILT} messages docs behaviour:output,comparison,notebook,program"),
    # What every job stands on stays large.
    ("services/{base,ring}/** proto/**", f"{BUILT} {JOBS} {USERS}"),
    # The shim. Its policies and tables are what apigen compares:
    ("shim/cupti/**", f"{BUILT} apigen behaviour:profiler,trace_tools"),
    ("shim/cuda_runtime_12/**", f"{BUILT} apigen cuda12"),
    ("shim/{gloo,torch_groups}/**", f"{BUILT} apigen behaviour:rendezvous,ranks folding:gloo,gloo_detail,hsdp"),
    ("shim/nccl/**", f"{BUILT} apigen behaviour:calls,overlap scenarios:ddp,fsdp2 folding:ddp,ring,hsdp"),
    ("shim/{time,host_time}/**", f"{BUILT} apigen behaviour:clocks behaviour-alone:clocks,host_time"),
    ("shim/{glibc,process}/**", f"{BUILT} apigen behaviour:launch,program,life"),
    ("shim/{probe,facade}/**", f"{BUILT} apigen wheel behaviour:calls"),
    (
        "shim/{compute,value,torch_operators,cufft,cusolver,cusparse,cusparse_lt}/**",
        f"{BUILT} apigen behaviour:values",
    ),
    ("shim/autograd/**", f"{BUILT} apigen behaviour:iterations"),
    ("shim/{cublas,cublas_lt,cudnn}/**", f"{BUILT} apigen behaviour:recurrent scenarios:ddp,resnet,transformers_llama"),
    ("shim/gpu/**", f"{BUILT} apigen behaviour:memory,calls scenarios:ddp,expandable_segments,cuda_graphs"),
    ("shim/core/**", f"{BUILT} apigen behaviour:life,failure scenarios:ddp"),
    ("shim/**", f"{BUILT} apigen behaviour:calls,memory scenarios:ddp,quickstart,cuda_graphs"),
    # Kubernetes.
    ("helm/** operator-manifests/**", "scripts dashboards kube:first_job,chart"),
    ("dashboards/**", "scripts dashboards metrics kube:cluster_metrics,forged_metrics"),
    ("e2e/kube/**", "scripts kube:@,first_job,chart"),
    ("e2e/CMakeLists.txt", "build-release scripts"),
    # Suites, and what they run.
    ("e2e/behaviours/test_cuda12.py e2e/cuda12 e2e/cuda12.txt e2e/older_frameworks*", "cuda12 apigen"),
    ("e2e/behaviours/test_*.py", "behaviour:@ behaviour-alone:@"),
    ("e2e/behaviours/**", "behaviour behaviour-alone cuda12"),
    ("e2e/harness/{server,jobs,alone,environments}.py", f"{JOBS} {USERS}"),
    ("e2e/harness/determinism*.py", "behaviour:determinism behaviour-alone:determinism"),
    ("e2e/harness/torture_*.py e2e/torture", "torture"),
    (
        "e2e/harness/{read_traces,trace_tables,draw_timeline}.py e2e/trace_tools*",
        "behaviour:trace_tools,timeline",
    ),
    ("e2e/harness/{fuzz_test,test_fuzz}.py e2e/fuzz", "scripts fuzz"),
    ("e2e/host_time/**", "behaviour-alone scenarios"),
    ("e2e/accuracy.csv e2e/scenarios/{*.py,reports/**,gpus/**} e2e/harness/emulated.py", "scenarios"),
    ("e2e/scenarios/**", "scenarios folding docs"),
    ("e2e/folding/**", "folding"),
    ("e2e/page/**", "page"),
    ("e2e/messages e2e/mistakes/**", "messages"),
    ("e2e/docs/**", "docs"),
    ("e2e/quickstart e2e/harness/check_quickstart.py", "docs"),
    ("e2e/{wheel/**,package} python/**", "wheel docs scripts behaviour:notebook,output"),
    ("e2e/compat e2e/compatibility/**", "compatibility scripts"),
    ("e2e/values/**", "build-release test-release behaviour:values"),
    ("e2e/measured/** e2e/validation/** e2e/{validate,kernel_times}", "pages build-release test-release"),
    ("e2e/transformer_engine* e2e/{release,coverage}", "kube:chart"),
    ("e2e/checks/headers.py", "headers"),
    ("e2e/checks/{hardening,glibc}.py", "build-release test-release wheel"),
    ("e2e/checks/pages.py", "pages"),
    # Style, which always runs.
    ("e2e/checks/** pyproject.toml .clang-format .clang-tidy .editorconfig .gitignore .pre-commit-config.yaml", ""),
]


def alternatives(glob):
    """The globs that one with `{a,b}` stands for."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if not found:
        return [glob]
    return [
        whole
        for choice in found[1].split(",")
        for whole in alternatives(glob[: found.start()] + choice + glob[found.end() :])
    ]


def pattern_of(glob):
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(words.get(word) or re.escape(word) for word in re.findall(r"\*\*/|\*\*|\*|[^*]+", glob))


@functools.cache
def patterns():
    rows = [(globs, parts, [one for glob in globs.split() for one in alternatives(glob)]) for globs, parts in ROWS]
    return [(re.compile("|".join(map(pattern_of, all_globs))), parts.split()) for _, parts, all_globs in rows]


def affected_by(path):
    """Parts, and `part:word`, that the path can affect; None when no row matches."""
    parts = next((parts for pattern, parts in patterns() if pattern.fullmatch(path)), None)
    own = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_")
    return parts and [name for part in parts for name in each_word(part.replace(":@", f":{own}"))]


def each_word(part):
    name, colon, words = part.partition(":")
    return [name + colon + word for word in words.split(",")]


def is_document(path):
    parts = affected_by(path)
    return bool(parts) and set(DOCUMENTS.split()) <= set(parts)
