// sweep: one job on every combination of values, by replays where a recording answers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/cli/follow_sweep.h"
#include "services/cli/replay_document.h"
#include "services/cli/replays.h"
#include "services/cli/results_log.h"
#include "services/cli/run_document.h"
#include "services/cli/sweep.h"
#include "services/cli/sweep_document.h"
#include "services/cli/terminal.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/job/document.h"
#include "services/controller/job/metadata.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::cli {
namespace {

using base::Result;
using base::StrCat;
using controller::shown::PhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using controller::shown::ToPrintableMessage;
using controller::sweep::ApplyPoint;
using controller::sweep::NameOf;
using controller::sweep::PointsOf;
using controller::sweep::RowOf;
using controller::sweep::RunPartOf;
using controller::sweep::SweepPoint;
using controller::sweep::SweepSpec;
using nlohmann::json;
namespace fs = std::filesystem;

struct SweepFlags {
  std::string file;
  std::string folder;  // Empty: beside the file.
  EmbeddedOptions embedded;
  std::string output = "table";
  bool submit = false;
};

// Runs the points of one sweep.
class Sweeper {
 public:
  Sweeper(SweepSpec spec, std::string folder, std::string base, Replays* replays)
      : spec_(std::move(spec)),
        folder_(std::move(folder)),
        base_(std::move(base)),
        replays_(replays),
        log_(folder_ + "/results.jsonl") {}

  Result<std::vector<json>> Run() {
    std::vector<json> rows;
    const std::vector<SweepPoint> points = PointsOf(spec_);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::string name = NameOf(points[i]);
      if (!log_.Has(name)) {
        std::fprintf(stderr, "eidolon: point %zu of %zu: %s\n", i + 1, points.size(), name.c_str());
        if (auto done = RunPoint(points[i]); !done) return std::unexpected(done.error());
      }
      rows.push_back(log_.at(name));
    }
    controller::sweep::RankRows(&rows);
    return rows;
  }

 private:
  Result<void> RunPoint(const SweepPoint& point) {
    const auto recording = FindRecording(RunPartOf(point));
    if (!recording) return std::unexpected(recording.error());
    if (recording->file.empty()) {  // The run failed: so do all that would replay it.
      return log_.Add(RowOf(point, recording->job, spec_, /*replayed=*/false));
    }
    const auto file = recording::RecordingFile::Open(recording->file);
    if (!file) return std::unexpected(file.error());
    const auto recorded = ReadRecordedJob(file->job());
    if (!recorded) return std::unexpected(recorded.error());
    json document = MakeReplayDocument(*recorded, recording->file, {});
    ApplyPoint(point, &document);
    document["metadata"]["name"] = NextName();
    const auto job = replays_->Predict(document);
    if (!job) {
      // A combination that describes nothing: the others go on.
      return log_.Add(RowOf(point, Refused(job.error()), spec_, /*replayed=*/true));
    }
    return log_.Add(RowOf(point, *job, spec_, /*replayed=*/true));
  }

  struct Found {
    std::string file;  // Empty: there is none, because of `job`.
    json job;
  };
  Result<Found> FindRecording(const SweepPoint& part) {
    if (!spec_.recording.empty()) return Found{.file = AbsoluteOf(spec_.recording), .job = {}};
    const std::string file = StrCat(folder_, "/run-", NumberOf(part), ".eidrec");
    std::error_code ignored;
    if (fs::exists(file, ignored)) return Found{.file = file, .job = {}};
    auto read = ReadJob();
    if (!read) return std::unexpected(read.error());
    json document = std::move(*read);
    ApplyPoint(part, &document);
    const std::string name = NextName();
    document["metadata"]["name"] = name;
    document["metadata"].erase("namespace");
    document["spec"]["outputs"]["recording"] = true;
    auto job = replays_->Predict(document);
    if (!job) return Found{.file = "", .job = Refused(job.error())};
    const std::string part_file = file + ".part";
    if (!replays_->Fetch(name, "recording", part_file)) return Found{.file = "", .job = *job};
    fs::rename(part_file, file, ignored);
    return Found{.file = file, .job = {}};
  }

  // The job that the file names or describes.
  Result<json> ReadJob() const {
    if (spec_.job.is_object()) {
      json document = {{"apiVersion", controller::job::kApiVersion},
                       {"kind", controller::job::kJobKind},
                       {"metadata", json::object()},
                       {"spec", spec_.job}};
      AnchorCodeDirectory(&document, base_);
      return document;
    }
    return ReadSweptJob(AbsoluteOf(spec_.job_file));
  }

  static json Refused(const base::Error& error) {
    return {{"status",
             {{"phase", "Refused"},
              {"conditions",
               {{{"type", "Refused"},
                 {"status", "True"},
                 {"reason", "Refused"},
                 {"message", error.message}}}}}}};
  }
  // The same part has the same number in every process of this sweep.
  std::size_t NumberOf(const SweepPoint& part) const {
    std::vector<std::string> names;
    for (const SweepPoint& point : PointsOf(spec_)) {
      const std::string name = NameOf(RunPartOf(point));
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      if (name == NameOf(part)) break;
    }
    return names.size();
  }
  std::string NextName() { return StrCat("sweep", ++jobs_); }
  std::string AbsoluteOf(const std::string& path) const {
    return (fs::path(base_) / path).lexically_normal().string();
  }

  SweepSpec spec_;
  std::string folder_;
  std::string base_;  // Folder that paths of the file are meant from.
  Replays* replays_;
  ResultsLog log_;
  int jobs_ = 0;
};

void PrintRows(const std::vector<json>& rows, const SweepFlags& flags, const Globals& globals) {
  Terminal terminal = Terminal::Standard(globals.raw);
  terminal.Print(flags.output == "table" ? SweepTable(rows)
                 : flags.output == "csv" ? SweepCsv(rows)
                                         : json(rows).dump(2) + "\n");
}

// Lets a controller do it, and follows. The status is that of the sweep.
int SubmitAndFollow(const SweepFlags& flags, const Globals& globals) {
  const auto text = ReadFile(flags.file);
  if (!text) return PrintFailure(text.error());
  const auto document = MakeSweepDocument(*text, flags.file);
  if (!document) {
    return PrintFailure({document.error().code, flags.file + ": " + document.error().message});
  }
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  Terminal terminal = Terminal::Messages(globals.raw);
  const auto sweep = SubmitSweep(Client(*target), globals.name_space, *document, &terminal);
  if (!sweep) return PrintFailure(sweep.error());
  auto rows = (*sweep)["status"].value("points", std::vector<json>());
  controller::sweep::RankRows(&rows);
  PrintRows(rows, flags, globals);
  if (PhaseOf(*sweep) == "Complete") return 0;
  const std::string why = TextAt(StandingCondition(*sweep), {"message"});
  return PrintFailure({base::ErrorCode::kFailedPrecondition, ToPrintableMessage(why)});
}

int Sweep(const SweepFlags& flags, const Globals& globals) {
  const auto text = ReadFile(flags.file);
  if (!text) return PrintFailure(text.error());
  auto spec = controller::sweep::ParseSweepFile(*text);
  if (!spec) return PrintFailure({spec.error().code, flags.file + ": " + spec.error().message});
  const fs::path file = fs::absolute(flags.file).lexically_normal();
  fs::path wanted = flags.folder.empty() ? file : fs::path(flags.folder);
  if (flags.folder.empty()) wanted.replace_extension("sweep");
  const std::string folder = fs::absolute(wanted).lexically_normal().string();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return PrintFailure({base::ErrorCode::kInvalidArgument,
                         StrCat("cannot make the folder ", folder, ": ", error.message())});
  }
  // Results are of one sweep: another matrix begins anew.
  const std::string kept = folder + "/sweep.yaml";
  const auto before = ReadFile(kept);
  if (before.has_value() && *before != *text) {
    return PrintFailure({base::ErrorCode::kFailedPrecondition,
                         StrCat(folder,
                                " has the results of another sweep; remove it, or name "
                                "another folder with --folder")});
  }
  if (auto written = base::WriteFile(kept, *text); !written) return PrintFailure(written.error());
  const auto replays = Replays::Start(flags.embedded);
  if (!replays) return PrintFailure(replays.error());
  const auto rows =
      Sweeper(std::move(*spec), folder, file.parent_path().string(), replays->get()).Run();
  if (!rows) return PrintFailure(rows.error());
  const std::pair<const char*, std::string> files[] = {{"/table.csv", SweepCsv(*rows)},
                                                       {"/table.json", json(*rows).dump(2) + "\n"},
                                                       {"/front.svg", SweepSvg(*rows)}};
  for (const auto& [name, content] : files) {
    if (auto written = base::WriteFile(folder + name, content); !written) {
      return PrintFailure(written.error());
    }
  }
  PrintRows(*rows, flags, globals);
  std::fprintf(stderr, "eidolon: %s has table.csv, table.json and front.svg\n", folder.c_str());
  return 0;
}

}  // namespace

void AddSweepCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* sweep =
      app->add_subcommand("sweep", "predict one job on every combination of values, and rank them");
  sweep->add_option("-f,--file", flags->file, "job or recording, matrix and prices, as YAML")
      ->required();
  sweep->add_option("--folder", flags->folder,
                    "results; a sweep that was ended goes on there. Default: FILE.sweep");
  sweep->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  sweep->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  sweep->add_option("--profile", flags->embedded.profile, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  sweep->add_flag("--submit", flags->submit,
                  "let the server of 'eidolon up', or of --server, do it, and follow");
  sweep->add_option("-o,--output", flags->output, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  sweep->callback([flags, globals, action] {
    *action = [flags, globals] {
      return flags->submit ? SubmitAndFollow(*flags, *globals) : Sweep(*flags, *globals);
    };
  });
}

}  // namespace eidolon::cli
