// An agent may end before Start returns, and its end is reported on the thread that also starts
// processes. So the entry in agents_ is made first, with number 0, and the lock is free while a
// process starts. Settings and the token go by environment: the command line of a process is
// visible to every user of the machine. When an agent has ended, its run directory identifies what
// it left, and all of that is killed before the end is reported.
#include "services/controller/place/local_placement.h"

#include <csignal>

#include "services/runtime/process/process_tree.h"

namespace eidolon::controller::place {
namespace {

constexpr char kAddressVariable[] = "EIDOLON_CONTROLLER_ADDRESS";
constexpr char kFoldersVariable[] = "EIDOLON_RUN_FOLDERS";
constexpr char kTokenVariable[] = "EIDOLON_AGENT_TOKEN";

std::string Joined(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : ":") + folder;
  return text;
}

}  // namespace

base::Result<void> LocalPlacement::Start(const PlacementRequest& request) {
  for (const AgentSlot& slot : request.agents) {
    if (auto started = StartOne(request, slot); !started) {
      Kill(request.job_uid);
      return started;
    }
  }
  return {};
}

base::Result<void> LocalPlacement::StartOne(const PlacementRequest& request,
                                            const AgentSlot& slot) {
  const std::int64_t uid = request.job_uid;
  const ProcessStart start = {.program = agent_program_,
                              .working_directory = slot.run_directory,
                              .environment = {{kAddressVariable, request.controller_address},
                                              {kTokenVariable, slot.token},
                                              {kFoldersVariable, Joined(request.folders)}},
                              .output_path = slot.run_directory + "/agent.log",
                              .umask = inherited_.umask,
                              .open_files = inherited_.open_files};
  // Entered first, because the agent may end before its number is known here. The lock is not held
  // while starting: the thread that starts also calls back.
  {
    const std::lock_guard lock(mutex_);
    agents_[uid][slot.server] = 0;
  }
  const auto process =
      processes_.Start(start, [this, uid, slot, on_exit = request.on_exit](const auto& how) {
        Forget(uid, slot.server);
        KillProcessesOfRun(slot.run_directory);
        on_exit(slot.server, how);
      });
  if (!process) {
    Forget(uid, slot.server);
    return std::unexpected(process.error());
  }
  const std::lock_guard lock(mutex_);
  const auto job = agents_.find(uid);
  if (job != agents_.end() && job->second.contains(slot.server))
    job->second[slot.server] = *process;
  return {};
}

void LocalPlacement::Forget(std::int64_t job_uid, std::uint32_t server) {
  const std::lock_guard lock(mutex_);
  const auto job = agents_.find(job_uid);
  if (job == agents_.end()) return;
  job->second.erase(server);
  if (job->second.empty()) agents_.erase(job);
}

void LocalPlacement::Signal(std::int64_t job_uid, int signal) {
  const std::lock_guard lock(mutex_);
  const auto job = agents_.find(job_uid);
  if (job == agents_.end()) return;
  for (const auto& [server, process] : job->second) {
    if (process > 0) processes_.Signal(process, signal);
  }
}

void LocalPlacement::Terminate(std::int64_t job_uid) { Signal(job_uid, SIGTERM); }

void LocalPlacement::Kill(std::int64_t job_uid) { Signal(job_uid, SIGKILL); }

std::string LocalPlacement::DescribeStopped(std::int64_t job_uid, std::uint32_t server) {
  // The lock is held, so that the process is not collected meanwhile and its number given to
  // another.
  const std::lock_guard lock(mutex_);
  const auto job = agents_.find(job_uid);
  if (job == agents_.end() || !job->second.contains(server)) return "";
  const int process = job->second.at(server);
  return process > 0 ? process::DescribeStopped(process) : "";
}

}  // namespace eidolon::controller::place
