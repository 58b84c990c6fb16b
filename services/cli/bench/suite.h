// The figures of `eidolon bench`: runs the benchmark programs of this build and the user's torch,
// and sets what they say beside the project's goals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/cli/bench/figure.h"
#include "services/cli/bench/program.h"

namespace eidolon::cli::bench {

struct SuiteOptions {
  std::string benchmark_directory;  // <build>/bench.
  std::string command;              // The path of `eidolon`, for what runs inside a job.
  std::string python = "python3";   // With stock torch.
  bool quick = false;               // Fewer repetitions: for tests, and a first look.
  bool jobs = false;                // Whole jobs besides: some minutes.
};

// Every figure, in the order of the table; those that could not be measured say why. Takes about
// a minute (quick: half of it) and both cores.
std::vector<Figure> MeasureAll(const SuiteOptions& options, const ProgramRunner& run);

// The program that runs a whole job (job_program.py), and those that it runs.
std::string_view JobProgram();
std::string_view QuickstartProgram();
std::string_view LoraProgram();
// The program that compares a replay with its run (replay_program.py).
std::string_view ReplayProgram();
// The program that measures torch (torch_program.py).
std::string_view TorchProgram();
// The program that compares torch with computed values and without (values_program.py).
std::string_view ValuesProgram();

}  // namespace eidolon::cli::bench
