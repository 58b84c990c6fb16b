"""Tests of apigen's parts on small made-up headers and policies. Needs clang-14 for the header part."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator import coverage, lookup, rows  # noqa: E402
from generator.elf import ElfError, SharedLibrary  # noqa: E402
from generator.headers import CLANG, Function, HeaderError, read_functions, read_sizes  # noqa: E402
from generator.policy import PolicyError, load_policy  # noqa: E402

HEAD = "@soname libtoy.so.1\n@prefix toy\n@header toy.h\n@class Library\n"


class PolicyTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp()) / "toy"
        self.folder.mkdir()
        self.addCleanup(shutil.rmtree, self.folder.parent)

    def load(self, text):
        path = self.folder / "toy.policy"
        path.write_text(HEAD + text)
        return load_policy(path)

    def refused(self, text):
        with self.assertRaises(PolicyError) as caught:
            self.load(text)
        return str(caught.exception)

    def test_reads_decisions_with_class_and_note(self):
        policy = self.load("toyRun simulate run::Run class=Launch starts it\ntoyHint accept - a hint\n")

        self.assertEqual(policy.decisions["toyRun"].handler, "run::Run")
        self.assertEqual(policy.decisions["toyRun"].call_class, "Launch")
        self.assertEqual(policy.decisions["toyHint"].call_class, "Library")
        self.assertEqual(policy.decisions["toyHint"].note, "a hint")

    def test_rejects_what_nobody_decided(self):
        self.assertEqual(self.load("").decision("toyOther").kind, "reject")

    def test_patterns_refuse_what_no_line_names(self):
        policy = self.load("toyGl* reject - no graphics\ntoyGlInit simulate gl::Init\n")

        self.assertEqual(policy.find("toyGlDraw").note, "no graphics")
        self.assertEqual(policy.find("toyGlInit").kind, "simulate")
        self.assertIsNone(policy.find("toyRun"))

    def test_names_the_line_of_a_mistake(self):
        self.assertIn("toy.policy:5: toyRun: unknown decision 'simulated'", self.refused("toyRun simulated run::Run\n"))
        self.assertIn("unknown call class 'Fast'", self.refused("toyRun simulate Run class=Fast\n"))
        self.assertIn("do not fit together", self.refused("toyRun simulate -\n"))
        self.assertIn("do not fit together", self.refused("toyRun reject Run\n"))
        self.assertIn("needs a note", self.refused("toyRun accept -\n"))
        self.assertIn("already decided in line 5", self.refused("toyRun reject -\ntoyRun reject -\n"))
        self.assertIn("unknown directive '@headers'", self.refused("@headers toy.h\n"))
        self.assertIn("only reject may use a pattern", self.refused("toy* simulate Run\n"))
        self.assertIn("expected `symbol kind handler note`", self.refused("toyRun reject\n"))


class RowsTest(unittest.TestCase):
    def setUp(self):
        PolicyTest.setUp(self)
        self.load = lambda text: PolicyTest.load(self, text)

    def make(self, policy, functions):
        declared = {function.name: function for function in functions}
        self.addCleanup(setattr, rows, "declared_functions", rows.declared_functions)
        rows.declared_functions = lambda *_: declared
        return [row.text for row in rows.make_rows(policy, None, None)]

    def test_writes_one_row_per_decision(self):
        policy = self.load("toyRun simulate Run class=Launch\ntoyHint accept - a hint\n")
        made = self.make(
            policy,
            [
                Function("toyRun", "int", (("void *", "data"), ("int", "n"))),
                Function("toyHint", "int", ()),
                Function("toyRest", "void", ()),
            ],
        )

        self.assertEqual(
            made,
            [
                "ACCEPT(int, toyHint, Library, ())",
                "REJECT(void, toyRest, ())",
                "SIMULATE(int, toyRun, Launch, Run, (void *data, int n), (data, n))",
            ],
        )

    def test_twins_follow_their_base_row(self):
        policy = self.load("@twin p\ntoyRun simulate Run\n")
        policy.single["prefix"] = "p?toy"
        made = self.make(policy, [Function(name, "int", ()) for name in ("toyRun", "toyRun_ptsz", "ptoyRun")])

        self.assertEqual(
            made,
            [
                "SIMULATE(int, ptoyRun, Library, Run, (), ())",
                "SIMULATE(int, toyRun, Library, Run, (), ())",
                "SIMULATE_PER_THREAD(int, toyRun_ptsz, Library, Run, (), ())",
            ],
        )

    def test_refuses_a_policy_for_a_symbol_that_does_not_exist(self):
        policy = self.load("toyGone simulate Run\n")

        with self.assertRaisesRegex(PolicyError, "toy.policy:5: toy exports no toyGone"):
            self.make(policy, [])

    def test_a_complete_policy_decides_everything(self):
        policy = self.load("@complete\ntoyGl* reject - no graphics\n")
        made = [Function("toyGlDraw", "int", ()), Function("toyRun", "int", ())]

        with self.assertRaisesRegex(PolicyError, "nobody decided toyRun$"):
            self.make(policy, made)
        with self.assertRaisesRegex(PolicyError, "exports nothing like toyGl"):
            self.make(policy, made[1:])

    def test_does_not_accept_calls_with_outputs(self):
        function = Function("toySize", "int", (("const char *", "name"), ("size_t *", "size")))

        with self.assertRaisesRegex(PolicyError, "would leave 'size_t \\* size' unwritten"):
            self.make(self.load("toySize accept - harmless\n"), [function])
        self.assertEqual(
            self.make(self.load("toySize accept - outputs=untouched read by nobody\n"), [function]),
            ["ACCEPT(int, toySize, Library, (const char *name, size_t *size))"],
        )


class OlderRowsTest(unittest.TestCase):
    """A library's older major beside the newer one."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("declared_functions", "_sizes"):
            self.addCleanup(setattr, rows, name, getattr(rows, name))

    def load(self, library, head, text):
        (self.folder / library).mkdir()
        path = self.folder / library / f"{library}.policy"
        path.write_text(f"{head}@prefix toy\n@header toy.h\n@class Library\n{text}")
        return load_policy(path)

    def make(self, older_text, older, newer, sizes=({}, {})):
        policies = (
            self.load("toy_1", "@soname libtoy.so.1\n@older toy\n@complete\n", older_text),
            self.load("toy", "@soname libtoy.so.2\n", "toyRun simulate Run\ntoySize simulate Size\n"),
        )
        declared = [{function.name: function for function in made} for made in (older, newer)]
        rows.declared_functions = lambda policy, *_: declared[policies.index(policy)]
        rows._sizes = lambda policy, *_: sizes[policies.index(policy)]
        return [row.text for row in rows.make_older_rows(policies[0], None, policies[1], None, None)]

    def test_what_is_the_same_in_both_has_no_second_row(self):
        run = Function("toyRun", "int", (("struct toy *", "data"),))

        self.assertEqual(self.make("", [run], [Function("toyRun", "int", (("toy *", "other"),))]), [])

    def test_what_only_the_older_one_has_keeps_its_name(self):
        self.assertEqual(
            self.make("toyOld simulate Old\n", [Function("toyOld", "int", ())], []),
            ["SIMULATE(int, toyOld, Library, Old, (), ())"],
        )

    def test_other_parameters_give_a_row_with_the_major_behind_the_name(self):
        older, newer = Function("toyRun", "int", (("int", "n"),)), Function("toyRun", "int", (("long", "n"),))

        self.assertEqual(
            self.make("toyRun simulate run::Older\n", [older], [newer]),
            ["SIMULATE(int, toyRun_1, Library, run::Older, (int n), (n))"],
        )

    def test_a_structure_of_another_size_does_so_too(self):
        size = Function("toySize", "int", (("struct toy *", "data"),))

        with self.assertRaisesRegex(PolicyError, "nobody decided toySize"):
            self.make("", [size], [size], sizes=({"toy": 24}, {"toy": 88}))

    def test_what_both_refuse_needs_no_second_row(self):
        older, newer = Function("toyOff", "int", (("int", "n"),)), Function("toyOff", "int", ())

        self.assertEqual(self.make("toyOff reject - nobody asks\n", [older], [newer]), [])

    def test_only_common_functions_can_differ(self):
        with self.assertRaisesRegex(PolicyError, "@differs toyRun: not a function of both"):
            self.make("@differs toyRun\n", [], [Function("toyRun", "int", ())])


@unittest.skipUnless(shutil.which(CLANG), f"{CLANG} is not installed")
class HeadersTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def read(self, text, language="c"):
        (self.folder / "toy.h").write_text(text)
        return read_functions(["toy.h"], [self.folder], language=language)

    def test_reads_types_as_written(self):
        functions = self.read(
            "struct toy; typedef struct toy *toy_t;\ntoy_t toyMake(const char *name, void (*done)(void *), int n[4]);\n"
        )

        made = functions["toyMake"]
        self.assertEqual(made.returns, "toy_t")
        self.assertEqual(made.parameter_list, "(const char *name, void (*done)(void *), int *n)")
        self.assertEqual(made.arguments, "(name, done, n)")

    def test_names_unnamed_parameters(self):
        self.assertEqual(self.read("int toyAdd(int, int);")["toyAdd"].parameter_list, "(int argument0, int argument1)")

    def test_leaves_out_functions_with_a_body(self):
        functions = self.read(
            "static inline int toyInline(void) { return 1; }\n"
            "inline int toyBody(void) { return 2; }\nint toyReal(void);\n"
        )

        self.assertEqual(sorted(functions), ["toyReal"])

    def test_reads_what_only_cplusplus_declares(self):
        text = '#ifdef __cplusplus\nextern "C" { int toyHalf(bool exact); }\n#endif\n'

        self.assertEqual(self.read(text), {})
        self.assertEqual(self.read(text, "c++")["toyHalf"].parameter_list, "(bool exact)")

    def test_reads_sizes_of_structures(self):
        (self.folder / "toy.h").write_text(
            "struct toy { long a; int b; }; typedef struct { char c; } unnamed_t;\nunion both { char c; short s; };\n"
        )

        self.assertEqual(read_sizes(["toy.h"], [self.folder]), {"toy": 16, "both": 2})

    def test_reports_what_clang_says(self):
        with self.assertRaisesRegex(HeaderError, "unknown type name 'missing_t'"):
            self.read("missing_t toyRun(void);")


class LookupTest(unittest.TestCase):
    def test_pairs_versions_with_symbols(self):
        made = lookup.pair_symbols(
            {("cuMemAlloc", ""): [2000, 3020], ("cuLaunch", "ptsz"): [7000]},
            {"cuMemAlloc", "cuMemAlloc_v2", "cuLaunch_ptsz", "cuMemAllocHost"},
        )

        self.assertEqual(
            made,
            [
                ("cuLaunch", 7000, "ptsz", "cuLaunch_ptsz"),
                ("cuMemAlloc", 2000, "", "cuMemAlloc"),
                ("cuMemAlloc", 3020, "", "cuMemAlloc_v2"),
            ],
        )

    def test_refuses_versions_without_symbols(self):
        with self.assertRaisesRegex(HeaderError, "cuMemAlloc has versions"):
            lookup.pair_symbols({("cuMemAlloc", ""): [2000, 3020]}, {"cuMemAlloc"})


class ElfTest(unittest.TestCase):
    def test_names_a_file_that_is_not_a_library(self):
        with self.assertRaisesRegex(ElfError, "generator_test.py: not a 64-bit"):
            SharedLibrary(__file__)


class CoverageTest(unittest.TestCase):
    def test_replaces_only_the_table(self):
        readme = f"before\n{coverage.BEGIN}\nold\n{coverage.END}\nafter\n"

        self.assertEqual(
            coverage.replace_table(readme, "new"), f"before\n{coverage.BEGIN}\n\nnew\n\n{coverage.END}\nafter\n"
        )
        with self.assertRaisesRegex(ValueError, "no place for the coverage table"):
            coverage.replace_table("nothing here", "new")


if __name__ == "__main__":
    unittest.main()
