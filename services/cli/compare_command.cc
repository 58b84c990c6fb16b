// compare: two jobs beside each other.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "services/cli/commands.h"
#include "services/cli/job_document.h"
#include "services/cli/terminal.h"
#include "services/controller/shown/comparison.h"
#include "services/controller/shown/comparison_text.h"

namespace eidolon::cli {
namespace {

using controller::shown::CompareJobs;
using controller::shown::FormatComparison;
using nlohmann::json;

struct CompareFlags {
  std::string first;
  std::string second;
  std::string output = "table";
};

// Names of jobs hold no slash; a file of the folder whose name ends otherwise is ./NAME.
bool IsFile(const std::string& word) {
  return word == "-" || word.find('/') != std::string::npos || word.ends_with(".json") ||
         word.ends_with(".yaml");
}

base::Result<json> FindJob(const Globals& globals, const std::string& word) {
  return IsFile(word) ? ReadJobDocument(word) : FetchJobDocument(globals, word);
}

int Compare(const Globals& globals, const CompareFlags& flags) {
  const auto first = FindJob(globals, flags.first);
  if (!first) return PrintFailure(first.error());
  const auto second = FindJob(globals, flags.second);
  if (!second) return PrintFailure(second.error());
  const json comparison = CompareJobs(*first, *second);
  Terminal::Standard(globals.raw)
      .Print(flags.output == "json" ? comparison.dump(2) + "\n" : FormatComparison(comparison));
  return 0;
}

}  // namespace

void AddCompareCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* compare = app->add_subcommand(
      "compare", "what differs between two jobs: time, breakdown, kernels, memory, fields");
  compare->add_option("first", flags->first, "name of a job, or a file with its document: A")
      ->required();
  compare->add_option("second", flags->second, "the other one: B")->required();
  compare->add_option("-o,--output", flags->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  compare->footer(
      "Examples:\n"
      "  eidolon compare llama llama-b200                  two jobs of the server\n"
      "  eidolon run -o json -- torchrun train.py > before.json\n"
      "  eidolon compare before.json after.json            what the command has printed\n"
      "  eidolon get llama -o json | eidolon compare before.json -\n"
      "Words that end with .json or .yaml or hold a / are files.");
  compare->callback([=] { *action = [=] { return Compare(*globals, *flags); }; });
}

}  // namespace eidolon::cli
