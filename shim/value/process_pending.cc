// The process's queue asks the agent for results, by kCollectiveValues.
#include <cstddef>
#include <new>
#include <vector>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/value/pending.h"
#include "shim/value/store.h"

namespace eidolon::shim::value {
namespace {

Fetch FetchFromAgent(std::uint64_t communicator, std::uint64_t sequence, bool wait,
                     std::vector<std::byte>* bytes) {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Fetch::kLost;
  ring::WaitRecord record{};
  record.header.kind = ring::RecordKind::kCollectiveValues;
  record.id = communicator;
  record.id2 = sequence;
  record.observer = wait ? 0 : 1;
  const core::Session::Answer answer = core::Ask(*session, record, false, *bytes);
  if (answer.status == ring::ReplyStatus::kNotReady) return Fetch::kNotYet;
  const bool whole = answer.payload_bytes >= bytes->size();
  return answer.status == ring::ReplyStatus::kOk && whole ? Fetch::kReady : Fetch::kLost;
}

}  // namespace

Pending& ProcessPending() {
  // Never destroyed: threads may outlive main.
  alignas(Pending) static std::byte storage[sizeof(Pending)];
  static Pending* const pending = new (storage) Pending(ProcessStore(), FetchFromAgent);
  return *pending;
}

}  // namespace eidolon::shim::value
