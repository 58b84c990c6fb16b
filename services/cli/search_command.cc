// search: the best values of a job's parameters, one point after another. The journal is written
// before the next point begins, and a point counts as found only when its row is on the disk, so a
// search that was killed at any moment goes on and runs no finished point again. A row depends on
// the job and the prices alone: objective, conditions, constraints, budget and further values may
// change between two runs in one folder, and what was found still counts.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "services/base/clock.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/cli/replays.h"
#include "services/cli/results_log.h"
#include "services/cli/run_document.h"
#include "services/cli/search.h"
#include "services/cli/terminal.h"
#include "services/controller/job/document.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using controller::search::Findings;
using controller::search::Grid;
using controller::search::ParsedSearch;
using controller::search::Point;
using controller::search::SearchSpec;
using controller::shown::NumberAt;
using controller::shown::PhaseOf;
using controller::shown::TextAt;
using nlohmann::json;
namespace fs = std::filesystem;

struct SearchFlags {
  std::string file;
  std::string folder;  // Empty: beside the file.
  EmbeddedOptions embedded;
  std::string output = "table";
};

// Runs the points of one search as far as its budget goes.
class Searcher {
 public:
  Searcher(const SearchSpec& spec, const Grid& grid, const std::string& folder,
           EmbeddedOptions embedded)
      : spec_(spec), grid_(grid), embedded_(std::move(embedded)), log_(folder + "/results.jsonl") {}

  Result<Findings> Run() {
    CountKnown();
    Findings findings = {.spec = spec_, .grid = grid_, .rows = {}, .not_tried = {}};
    for (std::size_t i = 0; i < grid_.points.size(); ++i) {
      const Point& point = grid_.points[i];
      if (!point.problems.empty()) {
        findings.rows.push_back(controller::search::RefusedRowOf(point));
        continue;
      }
      if (!IsKnown(point) && IsBudgetSpent()) {
        findings.not_tried.push_back(point.name);
        continue;
      }
      if (!IsKnown(point)) {
        std::fprintf(stderr, "eidolon: point %zu of %zu: %s\n", i + 1, grid_.points.size(),
                     point.name.c_str());
        if (auto done = Predict(point); !done) return std::unexpected(done.error());
      }
      findings.rows.push_back(log_.at(point.name));
    }
    controller::search::JudgeRows(spec_, &findings.rows);
    return findings;
  }

 private:
  // A row of a value that another type had, "4" and 4, is not the point's.
  bool IsKnown(const Point& point) const {
    if (!log_.Has(point.name)) return false;
    json values = json::object();
    for (const auto& [name, value] : point.values) values[name] = value;
    return log_.at(point.name).value("point", json()) == values;
  }

  // Counts what was found before, as the budget is that of the whole search.
  void CountKnown() {
    for (const Point& point : grid_.points) {
      if (point.problems.empty() && IsKnown(point)) Count(log_.at(point.name));
    }
  }
  void Count(const json& row) {
    ++tried_;
    spent_seconds_ += NumberAt(row, {"spentSeconds"});
  }
  bool IsBudgetSpent() const {
    return (spec_.points_max > 0 && tried_ >= spec_.points_max) ||
           (spec_.wall_seconds_max > 0 &&
            spent_seconds_ >= static_cast<double>(spec_.wall_seconds_max));
  }

  Result<void> Predict(const Point& point) {
    const std::int64_t begin_ns = clock_.MonotonicNs();
    if (replays_ == nullptr) {
      auto started = Replays::Start(embedded_);
      if (!started) return std::unexpected(started.error());
      replays_ = std::move(*started);
    }
    auto job =
        replays_->Predict(controller::search::DocumentOf(point, StrCat("search", tried_ + 1)));
    json row;
    if (job) {
      const std::string phase = PhaseOf(*job);
      if (phase != "Complete" && phase != "Failed") {
        return Fail(ErrorCode::kUnavailable, StrCat(point.name, " ended as ", phase,
                                                    "; the same command goes on with the search"));
      }
      row = controller::search::RowOf(point, *job, spec_);
    } else if (job.error().code == ErrorCode::kInvalidArgument) {
      Point refused = point;
      refused.problems = {{"", job.error().message}};
      row = controller::search::RefusedRowOf(refused);
    } else {
      return std::unexpected(job.error());
    }
    row["spentSeconds"] = static_cast<double>(clock_.MonotonicNs() - begin_ns) * 1e-9;
    if (auto added = log_.Add(row); !added) return added;
    Count(row);
    return {};
  }

  const SearchSpec& spec_;
  const Grid& grid_;
  EmbeddedOptions embedded_;
  ResultsLog log_;
  base::SystemClock clock_;
  std::unique_ptr<Replays> replays_;  // Null until a point has to run.
  std::size_t tried_ = 0;
  double spent_seconds_ = 0;
};

Result<json> ReadDocument(const std::string& file) {
  const auto text = ReadFile(file);
  if (!text) return std::unexpected(text.error());
  auto documents = controller::job::ParseDocuments(*text);
  if (!documents) return base::Wrap(file, documents.error());
  if (documents->size() == 1) return std::move(documents->front());
  return Fail(ErrorCode::kInvalidArgument,
              StrCat(file, ": has ", documents->size(), " documents; a search is one"));
}

int PrintProblems(const std::string& file, const controller::job::Problems& problems) {
  return PrintFailure({ErrorCode::kInvalidArgument, StrCat(file, " cannot be run as a search:\n",
                                                           controller::job::Describe(problems))});
}

// Makes the folder, and checks that what it may have is of the same job.
Result<void> PrepareFolder(const std::string& folder, const json& document) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("cannot make the folder ", folder, ": ", error.message()));
  }
  json kept = json::object();
  for (const char* name : {"job", "price"}) kept[name] = document["spec"].value(name, json());
  const std::string file = folder + "/job.json";
  const std::string text = kept.dump(2) + "\n";
  const auto before = ReadFile(file);
  if (!before.has_value()) return base::WriteFile(file, text);
  if (*before == text) return {};
  return Fail(ErrorCode::kFailedPrecondition,
              StrCat(folder,
                     " has the results of another job or other prices; remove it, or name "
                     "another folder with --folder"));
}

Result<void> WriteResults(const std::string& folder, const Findings& findings,
                          const std::string& name) {
  const std::pair<const char*, std::string> files[] = {
      {"/table.csv", SearchCsv(findings.rows)},
      {"/table.json", controller::search::ToJson(findings).dump(2) + "\n"}};
  for (const auto& [file, content] : files) {
    if (auto written = base::WriteFile(folder + file, content); !written) return written;
  }
  const std::string best_file = folder + "/best.yaml";
  const Point* best = controller::search::BestOf(findings);
  if (best != nullptr) {
    return base::WriteFile(best_file,
                           controller::job::ToYaml(controller::search::DocumentOf(*best, name)));
  }
  std::error_code ignored;
  fs::remove(best_file, ignored);
  return {};
}

int Search(const SearchFlags& flags, const Globals& globals) {
  auto document = ReadDocument(flags.file);
  if (!document) return PrintFailure(document.error());
  ParsedSearch search = controller::search::ParseSearch(*document);
  if (!search.problems.empty()) return PrintProblems(flags.file, search.problems);
  const fs::path file = fs::absolute(flags.file).lexically_normal();
  json job = {{"spec", std::move(search.spec.job)}};
  AnchorCodeDirectory(&job, file.parent_path().string());
  search.spec.job = std::move(job["spec"]);
  controller::job::Problems problems;
  const Grid grid = controller::search::MakeGrid(search.spec, &problems);
  if (!problems.empty()) return PrintProblems(flags.file, problems);
  fs::path wanted = flags.folder.empty() ? file : fs::path(flags.folder);
  if (flags.folder.empty()) wanted.replace_extension("search");
  const std::string folder = fs::absolute(wanted).lexically_normal().string();
  if (auto ready = PrepareFolder(folder, *document); !ready) return PrintFailure(ready.error());
  const auto findings = Searcher(search.spec, grid, folder, flags.embedded).Run();
  if (!findings) return PrintFailure(findings.error());
  const std::string name = search.metadata.name.empty() ? "best" : search.metadata.name;
  if (auto written = WriteResults(folder, *findings, name); !written) {
    return PrintFailure(written.error());
  }
  Terminal terminal = Terminal::Standard(globals.raw);
  terminal.Print(flags.output == "table" ? SearchTable(*findings)
                 : flags.output == "csv" ? SearchCsv(findings->rows)
                                         : controller::search::ToJson(*findings).dump(2) + "\n");
  const bool has_best = controller::search::BestOf(*findings) != nullptr;
  std::fprintf(stderr, "eidolon: %s has table.csv, table.json%s\n", folder.c_str(),
               has_best ? " and best.yaml, the best job" : "");
  return has_best ? 0 : 1;
}

}  // namespace

void AddSearchCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<SearchFlags>();
  CLI::App* search = app->add_subcommand(
      "search", "find the best values of a job's parameters: a layout, a cluster");
  search->add_option("-f,--file", flags->file, "a SimulationSearch document, as YAML")->required();
  search->add_option("--folder", flags->folder,
                     "results; a search that was ended goes on there. Default: FILE.search");
  search->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  search->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  search->add_option("--profile", flags->embedded.profile, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  search->add_option("-o,--output", flags->output, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  search->callback([flags, globals, action] {
    *action = [flags, globals] { return Search(*flags, *globals); };
  });
}

}  // namespace eidolon::cli
