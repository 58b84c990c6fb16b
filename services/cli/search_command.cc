// search: the best values of a job's parameters. A row of the journal depends on the job and the
// prices alone: objective, conditions, constraints, budget and further values may change between
// two runs in one folder, and what was found still counts. searcher.h runs the points.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/commands.h"
#include "services/cli/folder_lock.h"
#include "services/cli/run_document.h"
#include "services/cli/search.h"
#include "services/cli/search_ask.h"
#include "services/cli/searcher.h"
#include "services/cli/terminal.h"
#include "services/controller/job/document.h"
#include "services/controller/search/ask.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

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
using nlohmann::json;
namespace fs = std::filesystem;

struct SearchFlags {
  std::string file;
  std::string folder;  // Empty: beside the file.
  EmbeddedOptions embedded;
  std::string output = "table";
  AskFlags ask;  // Of the subcommands for tuners.
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
  if (document["spec"].contains("preset")) kept["preset"] = document["spec"]["preset"];
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

// A document that can be searched, and the folder of its results.
struct Opened {
  ParsedSearch search;
  json document;  // As it was read.
  fs::path folder;
};

// Prints what is wrong.
std::optional<Opened> Open(const SearchFlags& flags) {
  auto document = ReadDocument(flags.file);
  if (!document) {
    PrintFailure(document.error());
    return std::nullopt;
  }
  ParsedSearch search = controller::search::ParseSearch(*document);
  if (!search.problems.empty()) {
    PrintProblems(flags.file, search.problems);
    return std::nullopt;
  }
  const fs::path file = fs::absolute(flags.file).lexically_normal();
  json job = {{"spec", std::move(search.spec.job)}};
  AnchorCodeDirectory(&job, file.parent_path().string());
  search.spec.job = std::move(job["spec"]);
  fs::path folder = flags.folder.empty() ? file : fs::path(flags.folder);
  if (flags.folder.empty()) folder.replace_extension("search");
  return Opened{std::move(search), std::move(*document), fs::absolute(folder).lexically_normal()};
}

int Search(const SearchFlags& flags, const Globals& globals) {
  const std::optional<Opened> opened = Open(flags);
  if (!opened) return 1;
  const ParsedSearch& search = opened->search;
  controller::job::Problems problems;
  const Grid grid = controller::search::MakeGrid(search.spec, &problems);
  if (!problems.empty()) return PrintProblems(flags.file, problems);
  const std::string folder = opened->folder.string();
  if (auto ready = PrepareFolder(folder, opened->document); !ready) {
    return PrintFailure(ready.error());
  }
  const auto lock = FolderLock::Take(folder);
  if (!lock) return PrintFailure(lock.error());
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

using Dialogue = Result<int> (*)(const SearchSpec& spec, const AskFlags& flags, std::istream& in,
                                 std::ostream& out, PointRows* rows);

int Converse(const SearchFlags& flags, Dialogue dialogue) {
  const std::optional<Opened> opened = Open(flags);
  if (!opened) return 1;
  const std::string folder = opened->folder.string();
  if (auto ready = PrepareFolder(folder, opened->document); !ready) {
    return PrintFailure(ready.error());
  }
  const Grid none;  // The tuner proposes.
  Searcher searcher(opened->search.spec, none, folder, flags.embedded);
  const auto status = dialogue(opened->search.spec, flags.ask, std::cin, std::cout, &searcher);
  return status ? *status : PrintFailure(status.error());
}

int PrintSpace(const SearchFlags& flags) {
  const std::optional<Opened> opened = Open(flags);
  if (!opened) return 1;
  std::cout << controller::search::DescribeSearch(opened->search.spec).dump(2) << "\n";
  return 0;
}

// Commands below search, whose flags for the document and the folder they share.
void AddTunerCommands(CLI::App* search, const std::shared_ptr<SearchFlags>& flags, Action* action) {
  CLI::App* space = search->add_subcommand(
      "space", "print the parameters, constraints and objective as JSON, for a tuner");
  space->callback([flags, action] { *action = [flags] { return PrintSpace(*flags); }; });
  CLI::App* ask = search->add_subcommand(
      "ask", "predict the points that a tuner proposes; answers are JSON, a line for each");
  CLI::App* tell = search->add_subcommand(
      "tell", "keep a result from elsewhere, such as a measurement, as that of a point");
  for (CLI::App* command : {ask, tell}) {
    auto* point = command->add_option("--point", flags->ask.point, "NAME=VALUE of each parameter");
    auto* lines = command->add_flag("--lines", flags->ask.lines,
                                    "read lines of JSON from standard input, one for each point");
    lines->excludes(point);
    command->fallthrough();
    command->footer(
        "Exit status: 0 done, 1 failed, 2 wrong use, 3 an answer has no value or a result was not "
        "taken,\n130 interrupted.");
  }
  space->fallthrough();
  tell->add_option("--result", flags->ask.result, "JSON: {\"iterationSeconds\": 1.7}");
  ask->callback([flags, action] { *action = [flags] { return Converse(*flags, AnswerPoints); }; });
  tell->callback([flags, action] { *action = [flags] { return Converse(*flags, TakeResults); }; });
  search->require_subcommand(0, 1);
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
  AddTunerCommands(search, flags, action);
  search->callback([search, flags, globals, action] {
    if (!search->get_subcommands().empty()) return;
    *action = [flags, globals] { return Search(*flags, *globals); };
  });
}

}  // namespace eidolon::cli
