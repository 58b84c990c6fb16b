// Collectives of one process between the network service, which estimates and commits them, and the
// engine, which knows when a rank reaches them: captured calls, numbers, tokens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/agent/device/engine.h"
#include "services/agent/session/communicators.h"
#include "services/agent/session/launched_work.h"
#include "services/agent/session/session_host.h"
#include "services/agent/timeline/recorder.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/contract/critical_path/links.h"
#include "services/contract/ring/record.h"

namespace eidolon::network::v1 {
class NotBefore;
class Post;
}  // namespace eidolon::network::v1

namespace eidolon::agent::session {

// prepared_call.h has both.
struct PreparedCall;
struct OwnedCall;

// The network's answer to a collective. `member`: -1 for every rank of the communicator.
struct Commitment {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t member = -1;
  base::SimTime start;
  base::SimTime finish;
  std::uint32_t basis = 0;
  std::span<const critical_path::LinkTime> links = {};  // What the time went to.
};

// A captured call.
struct CommunicationTemplate {
  std::uint32_t communicator = 0;
  std::vector<::eidolon::ring::CommunicationOp> ops;
};

// Numbers of the cost table by which reports refer to a collective.
struct CollectiveNumbers {
  std::uint32_t basis = 0;
  std::uint32_t name = 0;
};

// Each open call has one token here, in its communicator, and in the engine, from Issue until
// Commit. Owned by its session. Main loop only.
class CollectiveCalls {
 public:
  // All outlive it.
  CollectiveCalls(SessionHost* host, device::Engine* engine, Communicators* communicators)
      : host_(host), engine_(engine), communicators_(communicators) {}

  // A template never changes: graphs that were made of it count its calls.
  base::Result<void> DefineTemplate(std::uint32_t id, std::uint32_t communicator,
                                    std::span<const ::eidolon::ring::CommunicationOp> ops);
  const CommunicationTemplate* FindTemplate(std::uint32_t id) const;

  // The calls of the operations; nothing when an estimate is not known yet.
  using Prepared = std::optional<std::vector<PreparedCall>>;
  base::Result<Prepared> Prepare(const Communicator& communicator,
                                 std::span<const ::eidolon::ring::CommunicationOp> ops,
                                 std::span<const std::byte> payload);
  // The calls of the templates, one behind the other, with whose they are.
  using PreparedTemplates = std::optional<std::vector<OwnedCall>>;
  base::Result<PreparedTemplates> PrepareTemplates(std::span<const std::uint32_t> templates);

  // The process launches work, which its next call tells the network.
  void NoteLaunch(std::uint64_t likeness) { launched_.Add(likeness); }
  // Numbers the call of communicator `id`, tells the network about it, and returns what the engine
  // needs.
  device::Collective Issue(std::uint32_t id, PreparedCall* call);
  // From inside the engine: this rank has reached the call.
  void Post(std::uint64_t token, base::SimTime ready);
  // The same: it will not reach the call, a send, before `ready`.
  void TellBound(std::uint64_t token, base::SimTime ready);
  // The network tells how early the call can end. True when it is open here.
  bool Bound(const network::v1::NotBefore& bound);
  // Resolves the call in the engine. True when it was open here.
  bool Commit(const Commitment& commitment);
  // Returns the numbers of the call that is being resolved, while the engine reports it.
  const CollectiveNumbers& resolving() const { return resolving_; }

  // From now on what a call is to a reader of the timeline is kept until it is resolved.
  void KeepShown() { keeps_shown_ = true; }
  // Takes what is shown of the call that is being resolved. Requires: it is kept.
  timeline::Collective TakeShown();

  // Describes, for people, the oldest open call of each communicator.
  std::string DescribeOpen() const;

 private:
  // A collective in the engine.
  struct OpenCall {
    std::uint32_t communicator = 0;
    CallName name;
    std::uint32_t name_number = 0;
    std::unique_ptr<timeline::Collective> shown;  // Null unless it is kept.
  };
  std::unique_ptr<timeline::Collective> ShownOf(const Communicator& communicator,
                                                const PreparedCall& call,
                                                const CallName& name) const;
  CallName NumberCall(Communicator* communicator, PreparedCall* call);
  void FillPost(std::uint64_t token, base::SimTime ready, network::v1::Post* post) const;

  SessionHost* host_;
  device::Engine* engine_;
  Communicators* communicators_;
  std::map<std::uint32_t, CommunicationTemplate> templates_;
  std::unordered_map<std::uint64_t, OpenCall> open_;  // By token.
  std::uint64_t next_token_ = 1;
  LaunchedWork launched_;
  CollectiveNumbers resolving_;
  bool keeps_shown_ = false;
  std::unique_ptr<timeline::Collective> resolving_shown_;
};

}  // namespace eidolon::agent::session
