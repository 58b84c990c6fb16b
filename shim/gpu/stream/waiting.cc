// A driver's wait is a question that the agent answers when the simulation has reached it, and
// tells the agent that this rank does nothing meanwhile. Other threads cannot promise that for the
// rank: they ask as observers, again and again, in real time. A poll loop has to make time pass, or
// it would spin for ever at one instant. Queries in a row without work between them cost 1 us of
// virtual time and double up to about 1 ms, so a loop's overshoot stays in proportion to its
// length.
//
// Every success ends in FinishWait: functions and bytes that the wait covers are in place before
// the program goes on.
#include "shim/gpu/stream/waiting.h"

#include <algorithm>

#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/report/unknown_read.h"
#include "shim/gpu/stream/callback.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

constexpr base::Duration kFirstPoll = base::Duration::Microseconds(1);
constexpr int kMostDoublings = 10;  // 1 us to about 1 ms.
constexpr std::int64_t kFirstSleepNs = 20'000;
constexpr std::int64_t kLongestSleepNs = 2'000'000;

struct PollState {
  std::uint64_t work;  // ThreadWorkCount at the last fruitless query.
  int repeats;         // Fruitless queries in a row without work in between.
};
[[gnu::tls_model("initial-exec")]] constinit thread_local PollState poll_state{};

ring::WaitRecord Question(ring::RecordKind kind, int device, std::uint64_t id) {
  ring::WaitRecord record{};
  record.header.kind = kind;
  record.header.device = RingDevice(device);
  record.id = id;
  return record;
}

void NoteFruitlessPoll(bool driver) {
  PollState& poll = poll_state;
  const std::uint64_t work = core::ThreadWorkCount();
  poll.repeats = poll.work == work ? poll.repeats + 1 : 1;
  poll.work = work;
  if (poll.repeats < 2) return;
  const int doublings = std::min(poll.repeats - 2, kMostDoublings);
  if (driver) {
    core::AdvanceBy(kFirstPoll * (std::int64_t{1} << doublings));
  } else {
    core::RealSleep(std::min(kFirstSleepNs << doublings, kLongestSleepNs));
    core::NoteSleptInShim();
  }
}

// Waits without keeping the agent from letting others act: for threads that do not drive the clock.
Status PollUntilDone(core::Session& session, ring::RecordKind query, int device, std::uint64_t id) {
  std::int64_t sleep_ns = kFirstSleepNs;
  while (true) {
    ring::WaitRecord record = Question(query, device, id);
    record.observer = 1;
    const Status status = StatusOf(core::Ask(session, record, false).status);
    if (status != Status::kNotReady) return status;
    core::RealSleep(sleep_ns);
    sleep_ns = std::min(sleep_ns * 2, kLongestSleepNs);
  }
}

// Ends every successful wait or query.
void FinishWait(const value::FinishedReads& finished) {
  RunDueCallbacks();
  value::Pending& values = value::ProcessPending();
  values.Drain();
  // Threads that only observe never hold up the rank.
  if (core::CurrentRole() != core::ThreadRole::kWatchdog) values.Finish(finished);
  FlushUnknownReads();
}

}  // namespace

Status StatusOf(ring::ReplyStatus status) noexcept {
  switch (status) {
    case ring::ReplyStatus::kOk:
      return Status::kSuccess;
    case ring::ReplyStatus::kNotReady:
      return Status::kNotReady;
    case ring::ReplyStatus::kInvalid:
      return Status::kInvalidHandle;
    default:
      return Status::kUnknown;
  }
}

Status WaitFor(ring::RecordKind kind, int device, std::uint64_t id,
               const value::FinishedReads& finished) noexcept {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  Status status;
  const bool driver = core::CurrentRole() == core::ThreadRole::kDriver;
  if (!driver && kind == ring::RecordKind::kSynchronizeStream) {
    status = PollUntilDone(*session, ring::RecordKind::kQueryStream, device, id);
  } else if (!driver && kind == ring::RecordKind::kSynchronizeEvent) {
    status = PollUntilDone(*session, ring::RecordKind::kQueryEvent, device, id);
  } else {
    status = StatusOf(core::Ask(*session, Question(kind, device, id), true).status);
  }
  poll_state.repeats = 0;
  if (status == Status::kSuccess) FinishWait(finished);
  return status;
}

Status WaitForDevice(int device) noexcept {
  return WaitFor(ring::RecordKind::kSynchronizeDevice, device, 0,
                 {.stream = {.device = device}, .whole_device = true});
}

Status Query(ring::RecordKind kind, int device, std::uint64_t id,
             const value::FinishedReads& finished) noexcept {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  const bool driver = core::CurrentRole() == core::ThreadRole::kDriver;
  ring::WaitRecord record = Question(kind, device, id);
  record.observer = driver ? 0 : 1;
  const Status status = StatusOf(core::Ask(*session, record, false).status);
  if (status == Status::kNotReady) {
    if (kind == ring::RecordKind::kQueryEvent) core::NoteFruitlessEventQuery();
    NoteFruitlessPoll(driver);
  } else {
    poll_state.repeats = 0;
    if (status == Status::kSuccess) FinishWait(finished);
  }
  return status;
}

}  // namespace eidolon::shim::gpu
