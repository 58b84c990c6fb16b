// Whether the job may be released or called a deadlock depends on this look, and a wrong "still"
// breaks the simulation, while a wrong "working" only costs time. So all processes below the agent
// count, the agent's own threads as well (one of them may hold news), and ranks that have started
// but not spoken yet. A stopped process counts as working. The thread that was found at work last
// time is asked first, because that is one read of /proc instead of hundreds.
#include "services/agent/server/process_watch.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/launch/witness.h"
#include "services/agent/outcome/plain_text.h"
#include "services/base/text.h"
#include "services/runtime/process/process_tree.h"
#include "services/runtime/process/socket_peer.h"

namespace eidolon::agent::server {

using base::StrCat;

namespace {

constexpr std::int64_t kTellStillMs = 1'000;
constexpr std::size_t kWitnesses = 4;

}  // namespace

clock::Look ProcessWatch::Look(const Processes& processes) {
  if (stillness_.WorksStill(clock_->MonotonicNs())) {
    standstill_.Move();
    return clock::Look::kWorking;
  }
  // A rank's main thread may be talking to another server.
  std::set<pid_t> ranks;
  for (const auto& [number, session] : processes.all()) {
    if (session->is_driving()) ranks.insert(session->options().pid);
  }
  // The agent's own threads bring what processes say: one that wants to run may hold such news.
  std::vector<pid_t> below = process::DescendantsNow(getpid());
  below.push_back(getpid());
  const auto seen = stillness_.Look(below, ranks, clock_->MonotonicNs());
  if (stillness_.moved()) standstill_.Move();
  switch (seen) {
    case launch::Stillness::kStill:
      return StartingRanksRest(processes) ? clock::Look::kStill : clock::Look::kPolling;
    case launch::Stillness::kPolling:
      return clock::Look::kPolling;
    case launch::Stillness::kStopped:  // It may go on at any time, and then do anything.
    case launch::Stillness::kWorking:
      break;
  }
  return clock::Look::kWorking;
}

// Orders processes as a user would look at them: first a stopped one, then ranks, then whatever the
// command has started.
void ProcessWatch::Describe(const Processes& processes, controller::v1::Progress* progress) const {
  const std::int64_t still_ms = standstill_.still_ns() / 1'000'000;
  if (still_ms < kTellStillMs) return;
  progress->set_still_milliseconds(static_cast<std::uint64_t>(still_ms));
  std::map<pid_t, std::uint32_t> sessions;
  for (const auto& [connection, process] : processes.connections()) {
    sessions[processes.at(process).options().pid] = process;
  }
  std::vector<std::pair<int, std::string>> seen;  // By how much it tells.
  for (const pid_t pid : process::DescendantsNow(getpid())) {
    const launch::Witness witness = launch::LookAtProcess(pid);
    if (!witness.is_there) continue;
    const auto session = sessions.find(pid);
    const bool is_rank =
        session != sessions.end() && processes.IsReporting(processes.at(session->second));
    if (witness.is_stopped) progress->set_is_stopped(true);
    const int weight = (witness.is_stopped ? 0 : 2) + (is_rank ? 0 : 1);
    seen.emplace_back(
        weight, is_rank ? StrCat("rank ", processes.ranks().NameOf(session->second), " ",
                                 witness.text, "; ", processes.at(session->second).LastDoing())
                        : StrCat("a process ", witness.text));
  }
  if (store_ != nullptr) {
    for (std::string& wait : store_->DescribeWaits()) seen.emplace_back(1, std::move(wait));
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(seen.size(), kWitnesses); ++i) {
    text += (i == 0 ? "" : ". ") + seen[i].second;
  }
  progress->set_witness(outcome::PlainText(text));
}

std::vector<std::pair<pid_t, std::int64_t>> ProcessWatch::UnknownRanks(const Processes& processes) {
  std::set<std::int32_t> known;
  for (const auto& [number, session] : processes.all()) {
    known.insert(processes.ranks().NameOf(number));
  }
  std::vector<std::pair<pid_t, std::int64_t>> unknown;
  // A rank comes before the processes that it starts, which have its variables.
  for (const pid_t pid : process::DescendantsNow(getpid())) {
    const auto variable = process::VariableOf(pid, "RANK");
    const auto rank = base::ParseInteger(variable.value_or(""));
    if (!rank.has_value() || !known.insert(static_cast<std::int32_t>(*rank)).second) continue;
    unknown.emplace_back(pid, *rank);
  }
  return unknown;
}

bool ProcessWatch::StartingRanksRest(const Processes& processes) {
  std::vector<pid_t> starting;
  for (const auto& [pid, rank] : UnknownRanks(processes)) starting.push_back(pid);
  return starting_.AreAtRest(starting, clock_->MonotonicNs());
}

std::string ProcessWatch::DescribeUnknownRanks(const Processes& processes) const {
  std::string text;
  for (const auto& [pid, rank] : UnknownRanks(processes)) {
    const launch::Witness witness = launch::LookAtProcess(pid);
    if (!witness.is_there) continue;
    text += StrCat(text.empty() ? "" : "; ", "rank ", rank, ", which has used no GPU yet, ",
                   witness.text);
  }
  return outcome::PlainText(text);
}

}  // namespace eidolon::agent::server
