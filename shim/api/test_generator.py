"""Tests of apigen's parts on small made-up headers and policies. Needs clang-14 for the header part."""

import shutil

import pytest
from generator import coverage, lookup, rows
from generator.elf import ElfError, SharedLibrary
from generator.headers import CLANG, Function, HeaderError, read_functions, read_sizes
from generator.policy import PolicyError, load_policy

needs_clang = pytest.mark.skipif(not shutil.which(CLANG), reason=f"{CLANG} is not installed")
HEAD = "@soname libtoy.so.1\n@prefix toy\n@header toy.h\n@class Library\n"


@pytest.fixture
def load(tmp_path):
    """Reads a policy of that text."""

    def load_text(text):
        path = tmp_path / "toy" / "toy.policy"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + text)
        return load_policy(path)

    return load_text


@pytest.fixture
def refused(load):
    """Returns what is said of a policy of that text."""

    def refused_text(text):
        with pytest.raises(PolicyError) as caught:
            load(text)
        return str(caught.value)

    return refused_text


def test_reads_decisions_with_class_and_note(load):
    policy = load("toyRun simulate run::Run class=Launch starts it\ntoyHint accept - a hint\n")

    assert policy.decisions["toyRun"].handler == "run::Run"
    assert policy.decisions["toyRun"].call_class == "Launch"
    assert policy.decisions["toyHint"].call_class == "Library"
    assert policy.decisions["toyHint"].note == "a hint"


def test_rejects_what_nobody_decided(load):
    assert load("").decision("toyOther").kind == "reject"


def test_patterns_refuse_what_no_line_names(load):
    policy = load("toyGl* reject - no graphics\ntoyGlInit simulate gl::Init\n")

    assert policy.find("toyGlDraw").note == "no graphics"
    assert policy.find("toyGlInit").kind == "simulate"
    assert policy.find("toyRun") is None


def test_names_the_line_of_a_mistake(refused):
    assert "toy.policy:5: toyRun: unknown decision 'simulated'" in refused("toyRun simulated run::Run\n")
    assert "unknown call class 'Fast'" in refused("toyRun simulate Run class=Fast\n")
    assert "do not fit together" in refused("toyRun simulate -\n")
    assert "do not fit together" in refused("toyRun reject Run\n")
    assert "needs a note" in refused("toyRun accept -\n")
    assert "already decided in line 5" in refused("toyRun reject -\ntoyRun reject -\n")
    assert "unknown directive '@headers'" in refused("@headers toy.h\n")
    assert "only reject may use a pattern" in refused("toy* simulate Run\n")
    assert "expected `symbol kind handler note`" in refused("toyRun reject\n")


@pytest.fixture
def make(monkeypatch):
    """The rows of a policy for these functions."""

    def made(policy, functions):
        monkeypatch.setattr(rows, "declared_functions", lambda *_: {function.name: function for function in functions})
        return [row.text for row in rows.make_rows(policy, None, None)]

    return made


def test_writes_one_row_per_decision(load, make):
    policy = load("toyRun simulate Run class=Launch\ntoyHint accept - a hint\n")
    made = make(
        policy,
        [
            Function("toyRun", "int", (("void *", "data"), ("int", "n"))),
            Function("toyHint", "int", ()),
            Function("toyRest", "void", ()),
        ],
    )

    assert made == [
        "ACCEPT(int, toyHint, Library, ())",
        "REJECT(void, toyRest, ())",
        "SIMULATE(int, toyRun, Launch, Run, (void *data, int n), (data, n))",
    ]


def test_twins_follow_their_base_row(load, make):
    policy = load("@twin p\ntoyRun simulate Run\n")
    policy.single["prefix"] = "p?toy"
    made = make(policy, [Function(name, "int", ()) for name in ("toyRun", "toyRun_ptsz", "ptoyRun")])

    assert made == [
        "SIMULATE(int, ptoyRun, Library, Run, (), ())",
        "SIMULATE(int, toyRun, Library, Run, (), ())",
        "SIMULATE_PER_THREAD(int, toyRun_ptsz, Library, Run, (), ())",
    ]


def test_refuses_a_policy_for_a_symbol_that_does_not_exist(load, make):
    policy = load("toyGone simulate Run\n")

    with pytest.raises(PolicyError, match="toy.policy:5: toy exports no toyGone"):
        make(policy, [])


def test_a_complete_policy_decides_everything(load, make):
    policy = load("@complete\ntoyGl* reject - no graphics\n")
    made = [Function("toyGlDraw", "int", ()), Function("toyRun", "int", ())]

    with pytest.raises(PolicyError, match="nobody decided toyRun$"):
        make(policy, made)
    with pytest.raises(PolicyError, match="exports nothing like toyGl"):
        make(policy, made[1:])


def test_does_not_accept_calls_with_outputs(load, make):
    function = Function("toySize", "int", (("const char *", "name"), ("size_t *", "size")))

    with pytest.raises(PolicyError, match="would leave 'size_t \\* size' unwritten"):
        make(load("toySize accept - harmless\n"), [function])
    assert make(load("toySize accept - outputs=untouched read by nobody\n"), [function]) == [
        "ACCEPT(int, toySize, Library, (const char *name, size_t *size))"
    ]


@pytest.fixture
def make_older(tmp_path, monkeypatch):
    """The rows of a library's older major beside the newer one."""

    def load_library(library, head, text):
        (tmp_path / library).mkdir()
        path = tmp_path / library / f"{library}.policy"
        path.write_text(f"{head}@prefix toy\n@header toy.h\n@class Library\n{text}")
        return load_policy(path)

    def made(older_text, older, newer, sizes=({}, {})):
        policies = (
            load_library("toy_1", "@soname libtoy.so.1\n@older toy\n@complete\n", older_text),
            load_library("toy", "@soname libtoy.so.2\n", "toyRun simulate Run\ntoySize simulate Size\n"),
        )
        declared = [{function.name: function for function in functions} for functions in (older, newer)]
        monkeypatch.setattr(rows, "declared_functions", lambda policy, *_: declared[policies.index(policy)])
        monkeypatch.setattr(rows, "_sizes", lambda policy, *_: sizes[policies.index(policy)])
        return [row.text for row in rows.make_older_rows(policies[0], None, policies[1], None, None)]

    return made


def test_what_is_the_same_in_both_has_no_second_row(make_older):
    run = Function("toyRun", "int", (("struct toy *", "data"),))

    assert make_older("", [run], [Function("toyRun", "int", (("toy *", "other"),))]) == []


def test_what_only_the_older_one_has_keeps_its_name(make_older):
    assert make_older("toyOld simulate Old\n", [Function("toyOld", "int", ())], []) == [
        "SIMULATE(int, toyOld, Library, Old, (), ())"
    ]


def test_other_parameters_give_a_row_with_the_major_behind_the_name(make_older):
    older, newer = Function("toyRun", "int", (("int", "n"),)), Function("toyRun", "int", (("long", "n"),))

    assert make_older("toyRun simulate run::Older\n", [older], [newer]) == [
        "SIMULATE(int, toyRun_1, Library, run::Older, (int n), (n))"
    ]


def test_a_structure_of_another_size_does_so_too(make_older):
    size = Function("toySize", "int", (("struct toy *", "data"),))

    with pytest.raises(PolicyError, match="nobody decided toySize"):
        make_older("", [size], [size], sizes=({"toy": 24}, {"toy": 88}))


def test_what_both_refuse_needs_no_second_row(make_older):
    older, newer = Function("toyOff", "int", (("int", "n"),)), Function("toyOff", "int", ())

    assert make_older("toyOff reject - nobody asks\n", [older], [newer]) == []


def test_only_common_functions_can_differ(make_older):
    with pytest.raises(PolicyError, match="@differs toyRun: not a function of both"):
        make_older("@differs toyRun\n", [], [Function("toyRun", "int", ())])


@pytest.fixture
def read(tmp_path):
    """The functions that a header of that text declares."""

    def read_text(text, language="c"):
        (tmp_path / "toy.h").write_text(text)
        return read_functions(["toy.h"], [tmp_path], language=language)

    return read_text


@needs_clang
def test_reads_types_as_written(read):
    functions = read(
        "struct toy; typedef struct toy *toy_t;\ntoy_t toyMake(const char *name, void (*done)(void *), int n[4]);\n"
    )

    made = functions["toyMake"]
    assert made.returns == "toy_t"
    assert made.parameter_list == "(const char *name, void (*done)(void *), int *n)"
    assert made.arguments == "(name, done, n)"


@needs_clang
def test_names_unnamed_parameters(read):
    assert read("int toyAdd(int, int);")["toyAdd"].parameter_list == "(int argument0, int argument1)"


@needs_clang
def test_leaves_out_functions_with_a_body(read):
    functions = read(
        "static inline int toyInline(void) { return 1; }\ninline int toyBody(void) { return 2; }\nint toyReal(void);\n"
    )

    assert sorted(functions) == ["toyReal"]


@needs_clang
def test_reads_what_only_cplusplus_declares(read):
    text = '#ifdef __cplusplus\nextern "C" { int toyHalf(bool exact); }\n#endif\n'

    assert read(text) == {}
    assert read(text, "c++")["toyHalf"].parameter_list == "(bool exact)"


@needs_clang
def test_reads_sizes_of_structures(tmp_path):
    (tmp_path / "toy.h").write_text(
        "struct toy { long a; int b; }; typedef struct { char c; } unnamed_t;\nunion both { char c; short s; };\n"
    )

    assert read_sizes(["toy.h"], [tmp_path]) == {"toy": 16, "both": 2}


@needs_clang
def test_reports_what_clang_says(read):
    with pytest.raises(HeaderError, match="unknown type name 'missing_t'"):
        read("missing_t toyRun(void);")


def test_pairs_versions_with_symbols():
    made = lookup.pair_symbols(
        {("cuMemAlloc", ""): [2000, 3020], ("cuLaunch", "ptsz"): [7000]},
        {"cuMemAlloc", "cuMemAlloc_v2", "cuLaunch_ptsz", "cuMemAllocHost"},
    )

    assert made == [
        ("cuLaunch", 7000, "ptsz", "cuLaunch_ptsz"),
        ("cuMemAlloc", 2000, "", "cuMemAlloc"),
        ("cuMemAlloc", 3020, "", "cuMemAlloc_v2"),
    ]


def test_refuses_versions_without_symbols():
    with pytest.raises(HeaderError, match="cuMemAlloc has versions"):
        lookup.pair_symbols({("cuMemAlloc", ""): [2000, 3020]}, {"cuMemAlloc"})


def test_names_a_file_that_is_not_a_library():
    with pytest.raises(ElfError, match="test_generator.py: not a 64-bit"):
        SharedLibrary(__file__)


def test_replaces_only_the_table():
    readme = f"before\n{coverage.BEGIN}\nold\n{coverage.END}\nafter\n"

    assert coverage.replace_table(readme, "new") == f"before\n{coverage.BEGIN}\n\nnew\n\n{coverage.END}\nafter\n"
    with pytest.raises(ValueError, match="no place for the coverage table"):
        coverage.replace_table("nothing here", "new")
