// profile: what durations rest on. Fitting and checking models, and exchanging measured profiles.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "services/base/regular_file.h"
#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/controller/embedded/controller_host.h"
#include "services/timing/fit/accuracy.h"
#include "services/timing/fit/gemm_kernels.h"
#include "services/timing/fit/kernel_errors.h"
#include "services/timing/fit/noise_floor.h"
#include "services/timing/profile/profile_cache.h"

namespace eidolon::cli {
namespace {

using base::Error;
using base::Result;
using timing::profile::Profile;
using timing::profile::ProfileCache;

struct ProfileFlags {
  bool check = false;
  bool kernels = false;
  std::string rows;
  int steps = 120;
  std::string tables = "services/timing/fit/data";
  std::string out;
  std::string gpu;
  std::string cache;
  std::vector<std::string> files;
};

// Writes to a file by renaming, so that no reader sees half of it; to the terminal when `path` is
// empty.
Result<void> WriteText(const std::string& path, const std::string& text) {
  if (path.empty()) {
    base::Print(text);
    return {};
  }
  // A device cannot be renamed over.
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (exists && !std::filesystem::is_regular_file(path, ignored)) {
    return base::WriteFile(path, text);
  }
  const std::string part = path + ".part";
  if (auto written = base::WriteFile(part, text); !written) return written;
  if (std::rename(part.c_str(), path.c_str()) == 0) return {};
  const base::Error failure = base::CannotWrite(path, errno);
  std::remove(part.c_str());
  return std::unexpected(failure);
}

int Done(const Result<void>& result) { return result ? 0 : PrintFailure(result.error()); }

Result<std::vector<timing::fit::Accuracy>> Check(const ProfileFlags& flags) {
  const auto catalog = timing::gpu_model::GpuCatalog::Load("");
  if (!catalog) return std::unexpected(catalog.error());
  const auto csv = base::ReadRegularFile(flags.tables + "/neusight_fp32.csv");
  if (!csv) return std::unexpected(csv.error());
  auto rows = timing::fit::GemmHalves(flags.steps);
  const auto append = [&rows](const std::vector<timing::fit::Accuracy>& more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  append(timing::fit::GemmAcrossGpus(*catalog));
  append(timing::fit::AttentionLengths());
  const auto families = timing::fit::NeusightFamilies(*catalog, *csv);
  if (!families) return std::unexpected(families.error());
  append(*families);
  const auto long_csv = base::ReadRegularFile(flags.tables + "/long_runs.csv");
  if (!long_csv) return std::unexpected(long_csv.error());
  const auto long_runs = timing::fit::LongRuns(*catalog, *long_csv);
  if (!long_runs) return std::unexpected(long_runs.error());
  append(*long_runs);
  return rows;
}

// Errors on the rows of a file, of GEMMs or of other kernels by its first line.
Result<std::string> CheckRows(const timing::gpu_model::GpuCatalog& catalog,
                              const std::string& path) {
  const auto csv = base::ReadRegularFile(path);
  if (!csv) return std::unexpected(csv.error());
  if (csv->starts_with("gpu,kernel,")) {
    const auto errors = timing::fit::KernelsOfFile(catalog, *csv);
    if (!errors) return base::Wrap(path, errors.error());
    return timing::fit::FormatPublished(*errors);
  }
  const auto errors = timing::fit::GemmsOfFile(catalog, *csv);
  if (!errors) return base::Wrap(path, errors.error());
  return timing::fit::FormatKernels(*errors);
}

// The tables of docs/reference/generated/kernel_times.md, or one of the rows of a file.
Result<std::string> CheckKernels(const ProfileFlags& flags) {
  const auto catalog = timing::gpu_model::GpuCatalog::Load("");
  if (!catalog) return std::unexpected(catalog.error());
  if (!flags.rows.empty()) return CheckRows(*catalog, flags.rows);
  const auto held_out = timing::fit::HeldOutGemms();
  std::string text =
      base::StrCat("## Rows that were left out\n\n", timing::fit::FormatKernels(held_out),
                   "\n## Rows that were left out, and what stacks differ by\n\n",
                   timing::fit::FormatNoiseFloor(held_out), "\n## GPUs that were left out\n\n",
                   timing::fit::FormatKernels(timing::fit::LeftOutGpus(*catalog)));
  constexpr std::pair<const char*, const char*> kFamilies[] = {
      {"attention", "attention"}, {"moe", "fused experts"}, {"gemm", "quantised GEMMs"}};
  for (const auto& [family, name] : kFamilies) {
    text += base::StrCat(
        "\n## Rows of ", name, " that were left out\n\n",
        timing::fit::FormatPublished(timing::fit::HeldOutKernels(family, "")), "\n## GPUs without ",
        name, "\n\n", timing::fit::FormatPublished(timing::fit::CarriedKernels(*catalog, family)));
  }
  return text;
}

int Fit(const ProfileFlags& flags) {
  if (flags.kernels || !flags.rows.empty()) {
    const auto text = CheckKernels(flags);
    if (!text) return PrintFailure(text.error());
    return Done(WriteText(flags.out, *text));
  }
  if (!flags.check) return Done(WriteText(flags.out, timing::fit::GemmScales(flags.steps)));
  const auto rows = Check(flags);
  if (!rows) return PrintFailure(rows.error());
  return Done(WriteText(flags.out, timing::fit::FormatAccuracies(*rows)));
}

Result<Profile> ReadProfile(const std::string& path) {
  const auto text = base::ReadRegularFile(path);
  if (!text) return std::unexpected(text.error());
  auto profile = timing::profile::ParseProfile(*text);
  if (!profile) return base::Wrap(path, profile.error());
  return profile;
}

int Export(const ProfileFlags& flags) {
  const auto cache = ProfileCache::Open(flags.cache);
  if (!cache) return PrintFailure(cache.error());
  const Profile profile = (*cache)->Export(flags.gpu);
  if (profile.rows.empty()) {
    std::fprintf(stderr, "eidolon: no measured durations of '%s' in '%s'\n", flags.gpu.c_str(),
                 flags.cache.c_str());
    return 1;
  }
  return Done(WriteText(flags.out, timing::profile::FormatProfile(profile)));
}

int Import(const ProfileFlags& flags) {
  const auto cache = ProfileCache::Open(flags.cache);
  if (!cache) return PrintFailure(cache.error());
  for (const std::string& file : flags.files) {
    const auto profile = ReadProfile(file);
    if (!profile) return PrintFailure(profile.error());
    if (const auto added = (*cache)->Add(*profile); !added) return PrintFailure(added.error());
    base::Print(base::StrCat(file, ": ", profile->rows.size(), " rows of ", profile->gpu, "\n"));
  }
  return 0;
}

int Merge(const ProfileFlags& flags) {
  auto merged = ReadProfile(flags.files.front());
  for (std::size_t i = 1; merged && i < flags.files.size(); ++i) {
    const auto more = ReadProfile(flags.files[i]);
    if (!more) return PrintFailure(more.error());
    merged = timing::profile::MergeProfiles(*merged, *more);
  }
  if (!merged) return PrintFailure(merged.error());
  return Done(WriteText(flags.out, timing::profile::FormatProfile(*merged)));
}

// 0 when equal, 1 when they differ, as diff(1).
int Diff(const ProfileFlags& flags) {
  const auto left = ReadProfile(flags.files[0]);
  if (!left) return PrintFailure(left.error()) + 1;
  const auto right = ReadProfile(flags.files[1]);
  if (!right) return PrintFailure(right.error()) + 1;
  const auto diff = timing::profile::DiffProfiles(*left, *right);
  if (!diff) return PrintFailure(diff.error()) + 1;
  base::Print(timing::profile::FormatDiff(*diff));
  return diff->same() ? 0 : 1;
}

void AddFit(CLI::App* profile, const std::shared_ptr<ProfileFlags>& flags, Action* action) {
  CLI::App* fit = profile->add_subcommand(
      "fit", "fit the GEMM model; --check prints every model's errors instead");
  fit->add_flag("--check", flags->check, "print fit and test errors beside their targets");
  fit->add_flag("--kernels", flags->kernels,
                "print how well kernels follow from published rows: the tables of "
                "docs/reference/generated/kernel_times.md");
  fit->add_option("--rows", flags->rows,
                  "print errors on the rows of a file: gpu,type,m,n,k,microseconds or "
                  "gpu,kernel,sizes,microseconds");
  fit->add_option("--tables", flags->tables, "folder with neusight_fp32.csv and long_runs.csv")
      ->capture_default_str();
  fit->add_option("--steps", flags->steps, "steps of the search for scales")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  fit->add_option("--out", flags->out, "file to write; default: the terminal");
  fit->callback([flags, action] { *action = [flags] { return Fit(*flags); }; });
}

void AddExchange(CLI::App* profile, const std::shared_ptr<ProfileFlags>& flags, Action* action) {
  const auto add = [&](const char* name, const char* what, int (*run)(const ProfileFlags&)) {
    CLI::App* command = profile->add_subcommand(name, what);
    command->callback([flags, action, run] { *action = [flags, run] { return run(*flags); }; });
    return command;
  };
  CLI::App* out = add("export", "write the measured durations of a GPU model", Export);
  out->add_option("--gpu", flags->gpu, "GPU model")->required();
  CLI::App* in = add("import", "add profiles to the cache", Import);
  in->add_option("files", flags->files, "profiles, JSON Lines")->required();
  for (CLI::App* command : {out, in}) {
    command->add_option("--cache", flags->cache, "profile cache, an SQLite file")->required();
  }
  CLI::App* merge = add("merge", "one profile out of several of a GPU model", Merge);
  merge->add_option("files", flags->files, "profiles, JSON Lines")->required();
  for (CLI::App* command : {out, merge}) {
    command->add_option("--out", flags->out, "file to write; default: the terminal");
  }
  CLI::App* diff = add("diff", "what differs between two profiles; ends with 1 when they do", Diff);
  diff->add_option("files", flags->files, "profiles, JSON Lines")->required()->expected(2);
}

}  // namespace

void AddProfileCommands(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* profile = app->add_subcommand("profile", "fit models; exchange measured durations");
  profile->require_subcommand(1);
  AddFit(profile, flags, action);
  AddExchange(profile, flags, action);
  AddProfileRunCommand(profile, globals, action);
}

}  // namespace eidolon::cli
