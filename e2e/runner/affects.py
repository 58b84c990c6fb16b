"""Which parts of e2e/test a changed file can affect: the first row that matches its path says so.

A row has globs (`*` within a name, `**` over folders, `{a,b}` one of several) and parts. `part:word,word` means the tests
of that part whose file has one of the words in its name (`@`: the name of the path itself); the others are sampled. A path
that no row matches affects everything. Parts that run whenever something other than documents has changed are not named.
Of `test-release` and what builds again, programs.py finds the programs that a file reaches in the graph of the build;
`scripts` are those of their tests that run no program.
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
    ("e2e/{build,packages,environment,requirements.txt,progress,pytest,pytest.ini,tests.txt}", "everything"),
    ("e2e/{conftest,sampling}.py e2e/runner/{parts,programs,graph}.py", "everything"),
    ("e2e/runner/** e2e/test .ci/run", "runner-tests"),
    # C++: what only its own tests run.
    ("{services,shim}/**/*_fuzz.cc {services,shim}/**/*_corpus/**", "build-asan fuzz"),
    ("{services,shim}/**/*_{test,bench}.{cc,h,py} {services,shim}/**/{testdata/**,test_*.py}", BUILT),
    ("services/testing/** {services,shim}/**/testing/**", BUILT),
    ("services/layers.txt", ""),
    # C++: what jobs and users see of a room.
    ("services/controller/page/**", f"{BUILT} page"),
    ("services/controller/{kube,kube_host,reconcile}/**", f"{BUILT} kube:first_job,turns,deaths,job_outputs"),
    ("services/controller/{rest,http}/**", f"{BUILT} page messages kube:api_users behaviour:access,crowd"),
    ("services/controller/sweep/**", f"{BUILT} page behaviour:sweep"),
    (
        "services/controller/{store,outputs}/**",
        f"{BUILT} page torture kube:job_outputs behaviour:disk,recording,timeline",
    ),
    ("services/controller/{shown,metrics}/**", f"{BUILT} page metrics dashboards behaviour:output"),
    ("services/controller/**", f"{BUILT} page messages torture kube:first_job,turns behaviour:life,failure,launch"),
    ("services/network/**", f"{BUILT} scenarios folding metrics behaviour:fabric,overlap"),
    (
        "services/{critical_path,recording}/**",
        f"{BUILT} page behaviour:critical_path,recording,timeline",
    ),
    ("services/folding/**", f"{BUILT} folding behaviour:folding,ranks"),
    ("services/timing/**", f"{BUILT} scenarios metrics behaviour:measuring,values,declared"),
    (
        "services/{cubin,sass,interpret,torch_layout,cudnn_numbers}/**",
        f"{BUILT} scenarios behaviour:values,program",
    ),
    ("services/cli/**", f"{BUILT} messages docs wheel behaviour:output,comparison,notebook"),
    ("services/{host_speed,agent/clock,agent/cost}/**", f"{BUILT} scenarios behaviour-alone behaviour:clocks"),
    ("services/agent/{launch,outcome,rendezvous}/**", f"{BUILT} torture messages behaviour folding"),
    ("services/agent/**", f"{BUILT} metrics behaviour scenarios folding"),
    ("services/{base,ring,runtime,process,cluster,estimate,workload,yaml}/**", f"{BUILT} {JOBS} {USERS}"),
    ("shim/cupti/**", f"{BUILT} apigen compatibility behaviour:profiler,trace_tools"),
    ("shim/cuda_runtime_12/**", f"{BUILT} apigen cuda12"),
    (
        "shim/{nccl,gloo,torch_groups}/**",
        f"{BUILT} apigen folding scenarios behaviour:rendezvous,ranks,overlap",
    ),
    ("shim/{time,glibc,process,host_time}/**", f"{BUILT} apigen compatibility behaviour behaviour-alone"),
    ("shim/{probe,facade}/**", f"{BUILT} apigen compatibility wheel"),
    (
        "shim/{compute,value,torch_operators,cufft,cusolver,cusparse,cusparse_lt}/**",
        f"{BUILT} apigen compatibility behaviour:values",
    ),
    ("shim/**", f"{BUILT} apigen {JOBS} compatibility"),
    ("proto/**", f"{BUILT} {JOBS} {USERS}"),
    # Kubernetes.
    ("helm/** operator-manifests/**", "scripts dashboards kube:first_job,chart,tenants"),
    ("dashboards/**", "scripts dashboards metrics kube:cluster_metrics,forged_metrics"),
    ("e2e/kube/**", "scripts kube:@,first_job,chart"),
    ("e2e/CMakeLists.txt", "build-release scripts"),
    # Suites, and what they run.
    ("e2e/behaviours/test_cuda12.py e2e/cuda12 e2e/cuda12.txt e2e/older_frameworks*", "cuda12 apigen"),
    ("e2e/behaviours/test_*.py", "behaviour:@"),
    ("e2e/behaviours/**", "behaviour behaviour-alone cuda12"),
    ("e2e/harness/{server,jobs,alone,environments}.py", f"{JOBS} {USERS}"),
    ("e2e/harness/determinism*.py", "behaviour-alone behaviour:determinism"),
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
