// The communicators of one process: joining and leaving them by way of the network service, and the
// values of their small results.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "services/agent/ring/reader.h"
#include "services/agent/session/applied.h"
#include "services/agent/session/replies.h"
#include "services/agent/session/result_values.h"
#include "services/agent/session/session_host.h"

namespace eidolon::network::v1 {
class Joined;
class Values;
}  // namespace eidolon::network::v1

namespace eidolon::agent::session {

// One communicator as one rank of this server sees it.
struct Communicator {
  std::uint64_t service = 0;  // The network service's number; 0 while joining, or without members.
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t channels = 0;
  // Folded jobs: what a split takes a rank that it gives no communicator; else 0.
  std::uint64_t split_ps = 0;

  // The agent numbers calls itself, because graph launches repeat calls without the shim's numbers.
  std::uint64_t next_collective = 0;
  std::uint64_t next_group = 0;
  std::map<std::pair<std::int32_t, bool>, std::uint64_t> next_transfer;  // By peer and direction.

  std::map<CallName, std::uint64_t> open;  // Calls in the engine: their tokens.
  ResultValues results;
  bool left = false;  // Takes no more calls.
};

// A communicator that was left stays until none of its calls is open, and longer for those who read
// its results late: a program may look at a tensor after it destroyed the process group. Owned by
// its session. Main loop only.
class Communicators {
 public:
  // Those that were left and have no open calls are forgotten beyond this, the oldest first.
  static constexpr std::size_t kLeftKept = 64;

  // All outlive it. `process` and `server`: who joins.
  Communicators(std::uint32_t process, std::uint32_t server, SessionHost* host, Intake* intake,
                Replies* replies)
      : process_(process), server_(server), host_(host), intake_(intake), replies_(replies) {}

  // Whether a join may begin: its number is free, and so is its slot, which is taken.
  base::Result<void> CheckJoin(const ring::RecordView& record);
  // Requires: CheckJoin.
  void Join(const ring::RecordView& record);
  base::Result<void> Split(const ring::RecordView& record);
  base::Result<void> Leave(const ring::RecordView& record);

  // The network's answers.
  void OnJoined(const network::v1::Joined& joined);
  void OnJoinFailed(std::uint64_t request, const std::string& reason);
  void OnFailed(std::uint64_t service, const std::string& reason);
  // True when they were for this process.
  bool OnValues(const network::v1::Values& values);

  // A thread asks for the bytes of a result, maybe of a communicator that was left. Invalid when
  // they were forgotten.
  base::Result<void> AskValues(const ::eidolon::ring::WaitRecord& record);

  // One that can be used: it was joined, has members, and was not left.
  base::Result<Communicator*> Find(std::uint32_t id);
  Communicator& at(std::uint32_t id) { return all_.at(id); }
  std::map<std::uint32_t, Communicator>& all() { return all_; }
  const std::map<std::uint32_t, Communicator>& all() const { return all_; }

  // GPUs that have joined one.
  const std::set<std::uint32_t>& devices() const { return devices_; }

  // Tells everybody that the job is ending.
  void Dismiss();

 private:
  // A thread that waits for its communicator.
  struct OpenJoin {
    std::uint32_t slot = 0;
    std::uint32_t communicator = 0;
  };
  void SendValue(std::uint32_t slot, std::string_view bytes);
  void ForgetLeft();

  std::uint32_t process_;
  std::uint32_t server_;
  SessionHost* host_;
  Intake* intake_;
  Replies* replies_;
  std::set<std::uint32_t> devices_;
  std::map<std::uint32_t, Communicator> all_;
  std::map<std::uint64_t, OpenJoin> joins_;  // By request.
};

}  // namespace eidolon::agent::session
