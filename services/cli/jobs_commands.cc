// submit, get, wait, logs, timeline, recording, delete: talk to a controller that runs.
#include <CLI/CLI.hpp>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/base/standard_output.h"
#include "services/cli/client.h"
#include "services/cli/commands.h"
#include "services/cli/follow.h"
#include "services/cli/follow_sweep.h"
#include "services/cli/job_file.h"
#include "services/cli/report.h"
#include "services/cli/run_document.h"
#include "services/cli/sweep.h"
#include "services/cli/terminal.h"
#include "services/cli/watched_jobs.h"
#include "services/controller/job/document.h"
#include "services/controller/job/label_selector.h"
#include "services/controller/job/metadata.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::cli {
namespace {

using nlohmann::json;

struct SubmitFlags {
  std::string file;
  bool follow = false;
  std::string output = "table";
};

struct GetFlags {
  std::string name;
  bool all_namespaces = false;
  bool watch = false;
  bool sweeps = false;
  std::string selector;
  std::string output = "table";
};

struct DeleteFlags {
  std::vector<std::string> names;
  bool sweeps = false;
};

struct LogFlags {
  std::string name;
  bool follow = false;
  bool prefix = false;
  bool timestamps = false;
};

struct FileFlags {
  std::string name;
  std::string file;
};

int PrintDocument(const json& document, const std::string& output, const std::string& table,
                  bool raw) {
  Terminal terminal = Terminal::Standard(raw);
  if (output == "json") {
    terminal.Print(document.dump(2) + "\n");
  } else if (output == "yaml") {
    terminal.Print(controller::job::ToYaml(document));
  } else if (output == "name") {
    terminal.Print(document["metadata"].value("name", "") + "\n");
  } else {
    terminal.Print(table);
  }
  return 0;
}

std::string CollectionPath(const std::string& name_space, const json& document) {
  const std::string kind = controller::job::KindOf(document);
  if (kind == controller::sweep::kSweepKind) return SweepPath(name_space);
  const bool cluster = kind == controller::job::kClusterKind;
  return "/api/v1/namespaces/" + name_space + (cluster ? "/simulatedclusters" : "/simulationjobs");
}

// The namespace a document names, or the one of the command line.
std::string NamespaceOf(const json& document, const Globals& globals) {
  if (!document.is_object() || !document.contains("metadata")) return globals.name_space;
  const json& metadata = document["metadata"];
  if (!metadata.is_object() || !metadata.contains("namespace")) return globals.name_space;
  return metadata["namespace"].is_string() ? metadata["namespace"].get<std::string>()
                                           : globals.name_space;
}

// Follows a job, prints its report; the status is the job's.
int FollowToReport(const Client& client, const FollowOptions& options, bool raw) {
  Terminal terminal = Terminal::Standard(raw);
  const auto job = Follow(client, options, &terminal);
  if (!job) return PrintFailure(job.error());
  terminal.Print("\n" + FormatReport(WithoutQuotedOutput(*job)));
  return ExitStatusOf(*job);
}

struct WaitFlags {
  std::string name;
  std::string output = "table";
};

// Waits until the job is over; prints a line of it, or its document.
int Wait(const Globals& globals, const WaitFlags& flags) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  Terminal terminal = Terminal::Messages(globals.raw);
  const auto job =
      Follow(Client(*target), {.name_space = globals.name_space, .name = flags.name, .logs = false},
             &terminal);
  if (!job) return PrintFailure(job.error());
  PrintDocument(*job, flags.output, FormatTable({*job}), globals.raw);
  return ExitStatusOf(*job);
}

int Submit(const Globals& globals, const SubmitFlags& flags) {
  const auto text = ReadFile(flags.file);
  if (!text) return PrintFailure(text.error());
  auto documents = controller::job::ParseDocuments(*text);
  if (!documents) {
    return PrintFailure({documents.error().code, flags.file + ": " + documents.error().message});
  }
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const Client client(*target);
  FollowOptions last;
  const auto folder = std::filesystem::path(flags.file == "-" ? "./-" : flags.file).parent_path();
  for (json& document : *documents) {
    AnchorCodeDirectory(&document, folder.string());
    const std::string name_space = NamespaceOf(document, globals);
    const auto created = client.SendForJson({.method = "POST",
                                             .path = CollectionPath(name_space, document),
                                             .body = document.dump(),
                                             .content_type = "application/json"});
    if (!created) return PrintFailure(created.error());
    const std::string name = (*created)["metadata"].value("name", "");
    PrintDocument(*created, flags.output, name_space + "/" + name + " created\n", globals.raw);
    if (controller::job::KindOf(document) == controller::job::kJobKind) {
      last = {.name_space = name_space, .name = name};
    }
  }
  return flags.follow && !last.name.empty() ? FollowToReport(client, last, globals.raw) : 0;
}

// Until the stream ends, or the user ends it.
int WatchJobs(const Globals& globals, const GetFlags& flags, const Client& client) {
  auto selector = controller::job::LabelSelector::Parse(flags.selector);
  if (!selector) return PrintFailure(selector.error());
  if (flags.output == "yaml") {
    return PrintFailure({base::ErrorCode::kInvalidArgument,
                         "--watch prints lines: choose the output table, json or name"});
  }
  WatchedJobs watched(
      {.name = flags.name, .selector = std::move(*selector), .output = flags.output});
  Terminal terminal = Terminal::Standard(globals.raw);
  EventSplitter events;
  const std::string path =
      flags.all_namespaces && flags.name.empty()
          ? "/api/v1/watch/simulationjobs"
          : "/api/v1/watch/namespaces/" + globals.name_space + "/simulationjobs";
  const auto done = client.Stream(path, [&](const std::string& text) {
    events.Add(text);
    EventSplitter::Event event;
    while (events.Next(&event)) {
      if (event.type != "jobs") continue;
      terminal.Print(watched.Add(json::parse(event.data, nullptr, /*allow_exceptions=*/false)));
    }
    return !base::OutputError();
  });
  return done ? 0 : PrintFailure(done.error());
}

// A value of a query, with what a URL gives another meaning as %XX.
std::string QueryValue(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string value;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      value += c;
    } else {
      value += {'%', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return value;
}

// All pages of a list, as one document.
base::Result<json> FetchList(const Client& client, const std::string& path,
                             const std::string& selector) {
  json all;
  json items = json::array();
  std::string next = "0";
  while (!next.empty()) {
    const auto page = client.SendForJson(
        {.path = path + "?continue=" + next +
                 (selector.empty() ? "" : "&labelSelector=" + QueryValue(selector))});
    if (!page) return std::unexpected(page.error());
    all = {{"kind", page->value("kind", "")}};
    for (const json& object : page->value("items", json::array())) items.push_back(object);
    next = page->value("metadata", json::object()).value("continue", "");
  }
  all["items"] = std::move(items);
  return all;
}

int GetSweeps(const Globals& globals, const GetFlags& flags, const Client& client) {
  if (!flags.name.empty()) {
    const auto sweep = client.SendForJson({.path = SweepPath(globals.name_space, flags.name)});
    if (!sweep) return PrintFailure(sweep.error());
    return PrintDocument(*sweep, flags.output, FormatSweep(*sweep), globals.raw);
  }
  const auto all = FetchList(
      client, flags.all_namespaces ? "/api/v1/simulationsweeps" : SweepPath(globals.name_space),
      flags.selector);
  if (!all) return PrintFailure(all.error());
  std::string names;
  for (const json& sweep : (*all)["items"]) {
    names += sweep["metadata"].value("name", "") + "\n";
  }
  if (flags.output == "name") {
    Terminal::Standard(globals.raw).Print(names);
    return 0;
  }
  return PrintDocument(*all, flags.output, FormatSweeps((*all)["items"]), globals.raw);
}

int Get(const Globals& globals, const GetFlags& flags) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const Client client(*target);
  if (flags.sweeps && flags.watch) {
    PrintFailure({base::ErrorCode::kInvalidArgument,
                  "--watch follows jobs; 'eidolon sweep --submit -f FILE' follows its sweep"});
    return 2;
  }
  if (flags.sweeps) return GetSweeps(globals, flags, client);
  if (flags.watch) return WatchJobs(globals, flags, client);
  if (!flags.name.empty() && !flags.selector.empty()) {
    PrintFailure({base::ErrorCode::kInvalidArgument, "name a job or a selector, not both"});
    return 2;
  }
  if (!flags.name.empty()) {
    const auto job = client.SendForJson({.path = JobPath(globals.name_space, flags.name)});
    if (!job) return PrintFailure(job.error());
    return PrintDocument(*job, flags.output, FormatReport(*job), globals.raw);
  }
  const std::string path =
      flags.all_namespaces ? "/api/v1/simulationjobs" : JobPath(globals.name_space);
  const auto all = FetchList(client, path, flags.selector);
  if (!all) return PrintFailure(all.error());
  const auto jobs = (*all)["items"].get<std::vector<json>>();
  if (flags.output == "name") {
    for (const json& job : jobs) PrintDocument(job, "name", "", globals.raw);
    return 0;
  }
  return PrintDocument(*all, flags.output, FormatTable(jobs), globals.raw);
}

int Logs(const Globals& globals, const LogFlags& flags) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const Client client(*target);
  if (flags.follow && !flags.timestamps) {
    // The output was delivered, whatever became of the job.
    Terminal terminal = Terminal::Standard(globals.raw);
    const auto job = Follow(
        client, {.name_space = globals.name_space, .name = flags.name, .prefix = flags.prefix},
        &terminal);
    return job ? 0 : PrintFailure(job.error());
  }
  Terminal terminal = Terminal::Standard(globals.raw);
  const auto word = [](bool value) { return std::string(value ? "true" : "false"); };
  const auto done =
      client.Stream(JobPath(globals.name_space, flags.name) + "/logs?prefix=" + word(flags.prefix) +
                        "&timestamps=" + word(flags.timestamps) + "&follow=" + word(flags.follow),
                    [&](const std::string& text) {
                      terminal.Print(text);
                      return !base::OutputError();
                    });
  return done ? 0 : PrintFailure(done.error());
}

int Delete(const Globals& globals, const DeleteFlags& flags) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const Client client(*target);
  for (const std::string& name : flags.names) {
    const std::string path =
        flags.sweeps ? SweepPath(globals.name_space, name) : JobPath(globals.name_space, name);
    const auto deleted = client.SendForJson({.method = "DELETE", .path = path});
    if (!deleted) return PrintFailure(deleted.error());
    Terminal::Standard(globals.raw).Print(globals.name_space + "/" + name + " deleted\n");
  }
  return 0;
}

struct SuspendFlags {
  std::vector<std::string> names;
  bool sweeps = false;
  bool suspend = false;  // Or resume.
};

int SetSuspend(const Globals& globals, const SuspendFlags& flags) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const Client client(*target);
  const json patch = {{"spec", {{"suspend", flags.suspend}}}};
  for (const std::string& name : flags.names) {
    const auto changed =
        client.SendForJson({.method = "PATCH",
                            .path = flags.sweeps ? SweepPath(globals.name_space, name)
                                                 : JobPath(globals.name_space, name),
                            .body = patch.dump(),
                            .content_type = "application/merge-patch+json"});
    if (!changed) return PrintFailure(changed.error());
    Terminal::Standard(globals.raw)
        .Print(globals.name_space + "/" + name + (flags.suspend ? " suspended\n" : " resumed\n"));
  }
  return 0;
}

base::Result<std::string> FetchTo(const Globals& globals, const FileFlags& flags,
                                  const std::string& what, const std::string& ending) {
  const auto target = FindTarget(globals);
  if (!target) return std::unexpected(target.error());
  const std::string file = flags.file.empty() ? flags.name + ending : flags.file;
  const auto done = FetchJobFile(
      Client(*target),
      {.name_space = globals.name_space, .job = flags.name, .what = what, .file = file});
  if (!done) return std::unexpected(done.error());
  return file;
}

int Timeline(const Globals& globals, const FileFlags& flags) {
  const auto file = FetchTo(globals, flags, "timeline", ".pftrace");
  if (!file) return PrintFailure(file.error());
  if (*file != "-") PrintTimelineHint(*file);
  return 0;
}

int Recording(const Globals& globals, const FileFlags& flags) {
  const auto file = FetchTo(globals, flags, "recording", ".eidrec");
  if (!file) return PrintFailure(file.error());
  if (*file != "-") PrintRecordingHint(*file);
  return 0;
}

CLI::Option* AddOutput(CLI::App* command, std::string* output) {
  return command->add_option("-o,--output", *output, "table, json, yaml or name")
      ->check(CLI::IsMember({"table", "json", "yaml", "name"}))
      ->capture_default_str();
}

// Commands that change or remove what exists.
void AddChanges(CLI::App* app, const Globals* globals, Action* action) {
  for (const bool suspends : {true, false}) {
    auto suspend_flags = std::make_shared<SuspendFlags>();
    suspend_flags->suspend = suspends;
    CLI::App* suspend =
        suspends
            ? app->add_subcommand("suspend", "keep jobs from starting, and sweeps from going on")
            : app->add_subcommand("resume", "let suspended jobs start, and sweeps go on");
    suspend->add_option("name", suspend_flags->names, "names of jobs")->required();
    suspend->add_flag("--sweeps", suspend_flags->sweeps, "sweeps; jobs that exist go on");
    suspend->callback([=] { *action = [=] { return SetSuspend(*globals, *suspend_flags); }; });
  }

  auto delete_flags = std::make_shared<DeleteFlags>();
  CLI::App* remove = app->add_subcommand("delete", "delete jobs; running ones are cancelled");
  remove->add_option("name", delete_flags->names, "names of jobs")->required();
  remove->add_flag("--sweeps", delete_flags->sweeps, "sweeps, with their jobs");
  remove->callback([=] { *action = [=] { return Delete(*globals, *delete_flags); }; });
}

}  // namespace

void AddJobCommands(CLI::App* app, const Globals* globals, Action* action) {
  auto submit_flags = std::make_shared<SubmitFlags>();
  CLI::App* submit =
      app->add_subcommand("submit", "create the jobs, clusters and sweeps of a file");
  submit->add_option("-f,--file", submit_flags->file, "YAML or JSON; - is standard input")
      ->required();
  submit->add_flag("--follow", submit_flags->follow, "follow the last job and print its report");
  AddOutput(submit, &submit_flags->output);
  submit->callback([=] { *action = [=] { return Submit(*globals, *submit_flags); }; });

  auto get_flags = std::make_shared<GetFlags>();
  CLI::App* get = app->add_subcommand("get", "list jobs, or report on one");
  get->add_option("name", get_flags->name, "name of a job");
  get->add_flag("-A,--all-namespaces", get_flags->all_namespaces, "jobs of all namespaces");
  get->add_flag("-w,--watch", get_flags->watch,
                "go on and print a line for each job that changes, until interrupted");
  get->add_option("-l,--selector", get_flags->selector,
                  "jobs with these labels, as of kubectl: team=a,!gpu,model in (x, y)");
  get->add_flag("--sweeps", get_flags->sweeps, "sweeps in the place of jobs");
  AddOutput(get, &get_flags->output);
  get->callback([=] { *action = [=] { return Get(*globals, *get_flags); }; });

  auto wait_flags = std::make_shared<WaitFlags>();
  CLI::App* wait = app->add_subcommand(
      "wait", "wait until a job is over; status 0: Complete, 3: with fewer iterations, 1: Failed");
  wait->add_option("name", wait_flags->name, "name of a job")->required();
  AddOutput(wait, &wait_flags->output);
  wait->callback([=] { *action = [=] { return Wait(*globals, *wait_flags); }; });

  auto log_flags = std::make_shared<LogFlags>();
  CLI::App* logs = app->add_subcommand("logs", "print a job's output");
  logs->add_option("name", log_flags->name, "name of a job")->required();
  logs->add_flag("-f,--follow", log_flags->follow, "go on until the job is over");
  logs->add_flag("--prefix", log_flags->prefix, "say which server a line comes from");
  logs->add_flag("--timestamps", log_flags->timestamps, "virtual seconds before each line");
  logs->callback([=] { *action = [=] { return Logs(*globals, *log_flags); }; });

  auto timeline_flags = std::make_shared<FileFlags>();
  CLI::App* timeline =
      app->add_subcommand("timeline", "fetch a job's timeline, for ui.perfetto.dev");
  timeline->add_option("name", timeline_flags->name, "name of a job")->required();
  timeline->add_option("-o,--output", timeline_flags->file,
                       "file; - is standard output; default: NAME.pftrace");
  timeline->callback([=] { *action = [=] { return Timeline(*globals, *timeline_flags); }; });

  auto recording_flags = std::make_shared<FileFlags>();
  CLI::App* recording =
      app->add_subcommand("recording", "fetch a job's recording, for 'eidolon replay'");
  recording->add_option("name", recording_flags->name, "name of a job")->required();
  recording->add_option("-o,--output", recording_flags->file,
                        "file; - is standard output; default: NAME.eidrec");
  recording->callback([=] { *action = [=] { return Recording(*globals, *recording_flags); }; });

  AddChanges(app, globals, action);
}

}  // namespace eidolon::cli
