// bench: the figures of this build on this machine, beside the project's goals.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/base/standard_output.h"
#include "services/cli/bench/suite.h"
#include "services/cli/commands.h"
#include "services/controller/embedded/controller_host.h"

namespace eidolon::cli {
namespace {

struct BenchFlags {
  bench::SuiteOptions suite;
  bool check = false;
  std::string output = "table";
};

int Bench(BenchFlags flags) {
  const std::string programs = controller::embedded::ProgramDirectory();
  if (flags.suite.benchmark_directory.empty()) {
    flags.suite.benchmark_directory = programs + "/../bench";
  }
  flags.suite.command = programs + "/eidolon";
  if (!std::filesystem::exists(flags.suite.benchmark_directory + "/timing_bench")) {
    std::fputs(
        "eidolon: the benchmark programs are not built; in the source tree run\n"
        "  e2e/build release benchmarks\n",
        stderr);
  }
  const auto figures = bench::MeasureAll(flags.suite, bench::RunProgram);
  const std::string text = flags.output == "json" ? bench::FiguresToJson(figures).dump(2) + "\n"
                                                  : bench::FormatFigures(figures);
  base::Print(text);
  return flags.check && !bench::MeetsAllGoals(figures) ? 1 : 0;
}

}  // namespace

void AddBenchCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app->add_subcommand(
      "bench", "measure this build on this machine, and set the figures beside their goals");
  command->add_option("--python", flags->suite.python, "a Python with stock torch")
      ->capture_default_str();
  command->add_flag("--quick", flags->suite.quick, "fewer repetitions");
  command->add_flag("--jobs", flags->suite.jobs,
                    "whole jobs besides: the quickstart's, and a LoRA's, which needs the packages "
                    "transformers and peft");
  command->add_flag("--check", flags->check, "end with 1 when a goal is missed or not measured");
  command->add_option("--benchmarks", flags->suite.benchmark_directory,
                      "folder with the benchmark programs; default: ../bench of this program");
  command->add_option("-o,--output", flags->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->callback([flags, action] { *action = [flags] { return Bench(*flags); }; });
}

}  // namespace eidolon::cli
