// A figure is only worth something beside a scale, so most notes give one: the cost of a plain
// call, the memory of the stock import. Programs are started one after another, since two at a time
// would measure each other. They report by lines with a fixed mark, and a number that is missing
// becomes a figure that was not measured, never zero. Without torch its figures, and those that
// need its library, are not measured, and the others are. Resident memory is in units of 2^20
// bytes.
#include "services/cli/bench/suite.h"

#include <map>
#include <optional>

#include "services/base/text.h"
#include "services/cli/bench/google_benchmark.h"

namespace eidolon::cli::bench {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr double kMega = 1e6;
constexpr double kKibi = 1024;
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerSecond = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

// The goals of the project. Resident memory counts in units of 2^20 bytes.
constexpr Goal kLaunchNs = {150, Better::kLower};
constexpr Goal kRingEvents = {kMega, Better::kHigher};
constexpr Goal kRecordsPerSecond = {2 * kMega, Better::kHigher};
constexpr Goal kTorchLaunches = {60e3, Better::kHigher};
constexpr Goal kResidentMb = {290, Better::kLower};
constexpr Goal kResidentPercent = {60, Better::kLower};
constexpr Goal kLazyAddUs = {0.3, Better::kLower};
constexpr Goal kEagerAddUs = {3, Better::kLower};
constexpr Goal kThreadInstructions = {1e9, Better::kHigher};
constexpr Goal kLargeStepPercent = {3, Better::kLower};
constexpr Goal kGrowthKib = {1024, Better::kLower};  // Of 64 GiB: pages of books, none of data.

constexpr Goal kReplayDifferences = {0, Better::kLower};
constexpr Goal kReplayFactor = {20, Better::kHigher};

constexpr Goal kTimelineSeconds = {20, Better::kLower};
constexpr Goal kTimelineMb = {200, Better::kLower};

constexpr Goal kQuickstartSeconds = {20, Better::kLower};
constexpr Goal kLoraSeconds = {40, Better::kLower};

constexpr std::nullopt_t kNoGoal = std::nullopt;

constexpr std::string_view kMark = "eidolon-bench ";

// Reads a program's lines "eidolon-bench NAME VALUE".
class Report {
 public:
  explicit Report(Result<std::string> output) : output_(std::move(output)) {
    if (!output_) return;
    for (const std::string_view line : base::Split(*output_, '\n')) {
      if (!line.starts_with(kMark)) continue;
      const std::string_view rest = line.substr(kMark.size());
      const std::size_t space = rest.find(' ');
      if (space == std::string_view::npos) continue;
      values_[std::string(rest.substr(0, space))] = rest.substr(space + 1);
    }
  }

  Result<std::string> Text(const std::string& name) const {
    if (!output_) return std::unexpected(output_.error());
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return Fail(ErrorCode::kNotFound, StrCat("the program did not report ", name));
    }
    return found->second;
  }

  // The number divided by `unit`.
  Result<double> Number(const std::string& name, double unit = 1) const {
    const auto text = Text(name);
    if (!text) return std::unexpected(text.error());
    const auto number = base::ParseNumber(*text);
    if (!number) return Fail(ErrorCode::kCorrupt, StrCat(name, " is reported as '", *text, "'"));
    return *number / unit;
  }

 private:
  Result<std::string> output_;
  std::map<std::string, std::string> values_;
};

// One benchmark program's results.
class Benchmarks {
 public:
  Benchmarks(const SuiteOptions& options, const ProgramRunner& run, const std::string& name,
             const std::string& filter,
             std::vector<std::pair<std::string, std::string>> environment = {})
      : results_(Run(options, run, name, filter, std::move(environment))) {}

  Result<double> Counter(const std::string& name, const std::string& counter) const {
    if (!results_) return std::unexpected(results_.error());
    const auto found = results_->find(name);
    if (found == results_->end()) return Missing(name);
    const auto value = found->second.counters.find(counter);
    if (value == found->second.counters.end()) return Missing(name + "'s " + counter);
    return value->second;
  }

  Result<double> RealNs(const std::string& name, double unit_ns = 1) const {
    if (!results_) return std::unexpected(results_.error());
    const auto found = results_->find(name);
    if (found == results_->end()) return Missing(name);
    return found->second.real_ns / unit_ns;
  }

 private:
  static std::unexpected<base::Error> Missing(const std::string& what) {
    return Fail(ErrorCode::kNotFound, StrCat("the benchmark did not report ", what));
  }

  static Result<BenchmarkResults> Run(
      const SuiteOptions& options, const ProgramRunner& run, const std::string& name,
      const std::string& filter, std::vector<std::pair<std::string, std::string>> environment) {
    std::vector<std::string> command = {options.benchmark_directory + "/" + name};
    const auto flags = BenchmarkFlags(filter, options.quick ? 3 : 7, options.quick ? 0.02 : 0.2);
    command.insert(command.end(), flags.begin(), flags.end());
    const auto output = run({.command = command, .environment = std::move(environment)});
    if (!output) return std::unexpected(output.error());
    return ParseBenchmarkOutput(*output);
  }

  Result<BenchmarkResults> results_;
};

std::string Ratio(const Result<double>& value, const Result<double>& scale,
                  const std::string& text) {
  if (!value || !scale || *scale <= 0) return "";
  return StrCat(FormatValue(*value / *scale), " ", text);
}

void MeasureShim(const SuiteOptions& options, const ProgramRunner& run, std::vector<Figure>* all) {
  const Benchmarks launches(options, run, "cuda_runtime_launch_bench",
                            "CallThroughPointer|LaunchOf");
  const auto call = launches.Counter("CallThroughPointer", "median_ns");
  const auto launch = launches.Counter("LaunchOfThreeParameters", "median_ns");
  all->push_back(
      {"call", "plain call through a pointer, median", "ns", kNoGoal, call, "the scale"});
  all->push_back({"shim.launch", "launch with its record written, median", "ns", kLaunchNs, launch,
                  Ratio(launch, call, "plain calls")});
  const auto big = launches.RealNs("LaunchOfFourKilobytes");
  all->push_back({"shim.largeLaunch", "launch with 4 KiB of parameters", "ns", kNoGoal, big,
                  Ratio(big, call, "plain calls")});
}

void MeasureServices(const SuiteOptions& options, const ProgramRunner& run,
                     std::vector<Figure>* all) {
  const Benchmarks session(options, run, "agent_session_bench", "DrainLaunches");
  all->push_back({"agent.records", "agent: records a second and core, whole session", "/s",
                  kRecordsPerSecond, session.Counter("DrainLaunches", "items_per_second"),
                  "ring, checks, costs, engine, iterations"});
  const Benchmarks device(options, run, "agent_device_bench", "KnownLaunch");
  all->push_back({"agent.engine", "device engine: a launch of known cost", "ns", kNoGoal,
                  device.RealNs("KnownLaunch"), ""});
  const Benchmarks timing(options, run, "timing_bench", "OverGrpc/1024/|EstimatorMiss");
  all->push_back({"timing.estimates", "timing service: estimates a second, batches of 1,024", "/s",
                  kNoGoal, timing.Counter("OverGrpc/1024/real_time", "items_per_second"),
                  "over gRPC on loopback"});
  all->push_back({"timing.miss", "timing service: a GEMM never seen before", "ns", kNoGoal,
                  timing.RealNs("EstimatorMiss"), ""});
  const Benchmarks network(options, run, "network_bench", "CommitLatency|RailRings/1024/8/");
  const std::string commit = "CommitLatency/iterations:3000/manual_time";
  all->push_back({"network.commit", "network service: from the last promise to the commit, median",
                  "us", kNoGoal, network.Counter(commit, "median_us"), "over gRPC on loopback"});
  all->push_back({"network.rings", "network service: flow events a second, rings of 8,192 GPUs",
                  "/s", kRingEvents,
                  network.Counter("RailRings/1024/8/real_time", "items_per_second"),
                  "64 rings a server and turn, over gRPC; one core of client"});
}

// Writing the timeline of 64 ranks.
void MeasureTimeline(const SuiteOptions& options, const ProgramRunner& run,
                     std::vector<Figure>* all) {
  SuiteOptions few = options;  // Each repetition takes seconds.
  few.quick = true;
  const Benchmarks timelines(few, run, "agent_timeline_bench", "BM_WriteTimeline/64/1000000/2");
  const std::string write = "BM_WriteTimeline/64/1000000/2";
  all->push_back({"timeline.seconds",
                  "timeline of 64 training ranks with 1,000,000 operations together: written in",
                  "s", kTimelineSeconds, timelines.RealNs(write, kNsPerSecond),
                  "64 times that when each rank has as many; one core"});
  const auto each = timelines.Counter(write, "bytes_per_operation");
  Result<double> bytes = timelines.Counter(write, "file_bytes");
  if (bytes) bytes = *bytes / kMega;
  all->push_back({"timeline.megabytes", "the same: size of its file", "MB", kTimelineMb, bytes,
                  each ? StrCat(FormatValue(*each), " bytes for an operation with its call") : ""});
}

// `library` is the user's libtorch_cuda.so.
void MeasureIndexing(const SuiteOptions& options, const ProgramRunner& run,
                     const Result<std::string>& library, std::vector<Figure>* all) {
  const std::string what = "index all of torch's device code, ";
  Figure first = {"shim.firstIndex", what + "first process", "ms", kNoGoal, 0.0, "nothing kept"};
  Figure later = {"shim.laterIndex", what + "later process", "ms", kNoGoal, 0.0, "kept by another"};
  if (library.has_value()) {
    const Benchmarks index(options, run, "cubin_index_bench", "IndexLibrary",
                           {{"EIDOLON_BENCH_LIBRARY", *library}});
    first.value = index.RealNs("IndexLibrary/FirstProcess/manual_time", kNsPerMs);
    later.value = index.RealNs("IndexLibrary/LaterProcess/manual_time", kNsPerMs);
  } else {
    first.value = later.value = std::unexpected(library.error());
  }
  all->push_back(std::move(first));
  all->push_back(std::move(later));
}

// Measures the cost of running small kernels for their values. `library` is the user's
// libtorch_cuda.so.
void MeasureValues(const SuiteOptions& options, const ProgramRunner& run,
                   const Result<std::string>& library, std::vector<Figure>* all) {
  const Report report(library.has_value()
                          ? run({.command = {options.python, "-c", std::string(ValuesProgram()),
                                             "drive", options.command, options.quick ? "3" : "15"},
                                 .environment = {}})
                          : Result<std::string>(std::unexpected(library.error())));
  const auto plain = report.Number("plain_add_seconds", kMicro);
  const auto read = report.Number("read_add_seconds", kMicro);
  const auto step = report.Number("step_seconds", kMilli);
  all->push_back({"values.lazyAdd",
                  "values computed: x.add_(1) on 10 elements, over a plain launch", "us",
                  kLazyAddUs, report.Number("lazy_add_seconds", kMicro),
                  plain ? StrCat("a launch with values off: ", FormatValue(*plain), " us") : ""});
  all->push_back({"values.eagerAdd", "values computed: the same, when the kernels are run", "us",
                  kEagerAddUs, report.Number("eager_add_seconds", kMicro),
                  read ? StrCat(FormatValue(*read), " us when each result is copied out") : ""});
  Result<double> instructions = 0.0;
  if (!library.has_value()) {
    instructions = std::unexpected(library.error());
  } else {
    const Benchmarks kernels(options, run, "compute_bench", "Interpret",
                             {{"EIDOLON_BENCH_LIBRARY", *library}});
    instructions = kernels.Counter("Interpret", "items_per_second");
  }
  all->push_back({"values.instructions", "values computed: thread instructions a second and core",
                  "/s", kThreadInstructions, instructions, "torch's gelu, 65,536 elements"});
  all->push_back({"values.largeStep", "values computed: a training step of large tensors, over off",
                  "%", kLargeStepPercent, report.Number("step_percent"),
                  step ? StrCat(FormatValue(*step), " ms with values off") : ""});
}

// A training step's run with recording, and its replay without changes. `library` is the user's
// libtorch_cuda.so.
void MeasureReplay(const SuiteOptions& options, const ProgramRunner& run,
                   const Result<std::string>& library, std::vector<Figure>* all) {
  const Report report(library.has_value()
                          ? run({.command = {options.python, "-c", std::string(ReplayProgram()),
                                             options.command, options.quick ? "20" : "200"},
                                 .environment = {}})
                          : Result<std::string>(std::unexpected(library.error())));
  all->push_back({"replay.differences", "replay without changes: parts predicted otherwise", "",
                  kReplayDifferences, report.Number("replay_differences"),
                  "iterations to the picosecond, memory, breakdown, coverage"});
  const auto seconds = report.Number("replay_seconds");
  const auto run_seconds = report.Number("replay_run_seconds");
  all->push_back({"replay.factor", "replay: how much faster than its run", "times", kReplayFactor,
                  report.Number("replay_factor"),
                  seconds && run_seconds ? StrCat("run ", FormatValue(*run_seconds), " s, replay ",
                                                  FormatValue(*seconds), " s")
                                         : ""});
}

// The user's torch, first as it is, then on an emulated GPU.
void MeasureTorch(const SuiteOptions& options, const ProgramRunner& run, std::vector<Figure>* all) {
  const std::string program(TorchProgram());
  const Report stock(run({.command = {options.python, "-c", program, "stock"}, .environment = {}}));
  const auto version = stock.Text("torch");
  const auto library = stock.Text("library");
  // Without torch the emulated run would only say the same again.
  const Report emulated(
      version.has_value()
          ? run({.command = {options.command, "run", "--gpu", "H100-SXM5-80GB", "--values", "off",
                             "--nvtx", "bench", "--warmup", "0", "--measure", "1", "--",
                             options.python, "-c", program, options.quick ? "20" : "200"},
                 .environment = {}})
          : Result<std::string>(std::unexpected(version.error())));
  const std::string torch = version.has_value() ? "torch " + *version : "";
  const auto operations = emulated.Number("step_operations");
  all->push_back({"torch.launches",
                  "stock torch, small training step, values off: launches a second", "/s",
                  kTorchLaunches, emulated.Number("step_launches_per_second"),
                  operations ? StrCat(torch, ", ", *operations, " launches a step") : ""});
  all->push_back({"torch.add", "stock torch, x.add_(1), values off: launches a second and core",
                  "/s", kTorchLaunches, emulated.Number("add_launches_per_second"), ""});
  const auto resident = emulated.Number("resident_bytes", kKibi * kKibi);
  const auto plain = stock.Number("stock_resident_bytes", kKibi * kKibi);
  all->push_back({"torch.resident", "resident after import torch and a first GPU call", "MB",
                  kResidentMb, resident,
                  plain ? StrCat(FormatValue(*plain), " MB for the stock import alone") : ""});
  // How many pages of a library one access brings in is the kernel's choice, in both alike.
  Result<double> of_stock = resident;
  if (resident && plain) of_stock = 100 * *resident / *plain;
  all->push_back({"torch.residentOfStock", "the same, as a share of the stock import", "%",
                  kResidentPercent, of_stock, ""});
  all->push_back({"memory.growth", "resident growth by 64 GiB of emulated GPU memory", "KiB",
                  kGrowthKib, emulated.Number("growth_of_64_gib_bytes", kKibi),
                  "allocated and set to zero"});
  MeasureIndexing(options, run, library, all);
  MeasureValues(options, run, library, all);
  MeasureReplay(options, run, library, all);
}

struct WholeJob {
  std::string name;  // In job_program.py.
  std::string what;
  Goal goal;
  std::string_view program;
};

void MeasureJob(const SuiteOptions& options, const ProgramRunner& run, const WholeJob& job,
                std::vector<Figure>* all) {
  const Report report(run({.command = {options.python, "-c", std::string(JobProgram()),
                                       options.command, job.name, std::string(job.program)},
                           .environment = {}}));
  const std::string key = "job." + job.name;
  all->push_back({key, job.what, "s", job.goal, report.Number("job_seconds"),
                  "on two cores that do nothing else"});
  all->push_back({key + "Processor", "the same: processor time", "s", kNoGoal,
                  report.Number("job_processor_seconds"), "of all processes, start and end too"});
}

}  // namespace

std::vector<Figure> MeasureAll(const SuiteOptions& options, const ProgramRunner& run) {
  std::vector<Figure> all;
  MeasureShim(options, run, &all);
  MeasureTorch(options, run, &all);
  MeasureServices(options, run, &all);
  MeasureTimeline(options, run, &all);
  if (options.jobs) {
    MeasureJob(options, run,
               {"quickstart", "the quickstart's job, 8 ranks: wall time", kQuickstartSeconds,
                QuickstartProgram()},
               &all);
    MeasureJob(options, run,
               {"lora", "LoRA with transformers' Trainer and peft, 2 ranks: wall time",
                kLoraSeconds, LoraProgram()},
               &all);
  }
  return all;
}

}  // namespace eidolon::cli::bench
