// The agent numbers completed operations by the ring position of the record that issued them, and
// that is how they find their correlation again: issued work waits in open_ until all its
// operations are reported. An operation without an issuer is counted as dropped. A flush therefore
// takes the operations first and what was issued afterwards, or work that is issued and ends in
// between would have no issuer.
//
// The program's buffer functions run while mutex_ is held: they may ask for dropped records, which
// is atomic, but not flush. Every time in a record has passed through clock_, from the rank's
// picoseconds to the clock in which the program wants it. While something is watched, the
// processor's tick counter shows virtual time too, as PyTorch's profiler takes the times of its
// host events from there.
#include "shim/vendor/cupti/flusher.h"

#include <unistd.h>

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/program/time/tick_clock.h"
#include "shim/vendor/cupti/device_record.h"

namespace eidolon::shim::cupti {
namespace {

struct Taken {
  std::vector<ring::CompletedOperation> operations;
  std::size_t dropped = 0;
  bool more = false;
};

Taken AskAgent(ring::ActivityRequest request) {
  Taken taken;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return taken;
  if (request == ring::ActivityRequest::kTake) {
    taken.operations.resize(ring::kOperationsInAnswer);
  }
  ring::WaitRecord question{};
  question.header.kind = ring::RecordKind::kActivity;
  question.id = static_cast<std::uint64_t>(request);
  const core::Session::Answer answer =
      core::Ask(*session, question, false, std::as_writable_bytes(std::span(taken.operations)));
  const bool is_answer = answer.status == ring::ReplyStatus::kOk;
  taken.operations.resize(is_answer ? answer.payload_bytes / sizeof(ring::CompletedOperation) : 0);
  taken.dropped = is_answer ? answer.extra : 0;
  taken.more = answer.value_ps != 0 && !taken.operations.empty();
  return taken;
}

void AddExternal(const std::vector<ExternalId>& ids, std::uint32_t correlation,
                 RecordGroup* group) {
  for (const ExternalId& id : ids) {
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = id.kind;
    record.externalId = id.id;
    record.correlationId = correlation;
    group->Add(record);
  }
}

bool IsAllReported(const IssuedWork& work) {
  switch (work.kind) {
    case ring::RecordKind::kCommunication:
      return work.reported >= work.collectives.size();
    case ring::RecordKind::kGraphLaunch: {
      const std::size_t operations = gpu::DeviceOperationsOf(work.subject);
      return operations != 0 && work.reported >= operations;
    }
    default:
      return true;
  }
}

}  // namespace

Flusher& Flusher::Get() {
  static Flusher& flusher = *new Flusher;  // Never destroyed: threads may outlive main.
  return flusher;
}

void Flusher::Register(CUpti_BuffersCallbackRequestFunc request,
                       CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(mutex_);
  request_ = request;
  complete_ = complete;
  if (buffers_ == nullptr) return;
  // Records were enabled before it was said where they go.
  buffers_.reset();
  BeginBuffers();
}

void Flusher::BeginBuffers() {
  if (buffers_ != nullptr) return;
  buffers_ = std::make_unique<BufferWriter>(request_, complete_);
  buffers_->Prepare();
}

void Flusher::FollowWatch() {
  const std::lock_guard lock(mutex_);
  const bool watches = Watch::Get().IsWatching();
  if (watches == agent_watches_) return;
  agent_watches_ = watches;
  if (watches) {
    open_.clear();
    BeginBuffers();
    time::ShowVirtualTicks();
    clock_.Restart();
    AskAgent(ring::ActivityRequest::kStart);
  } else {
    AskAgent(ring::ActivityRequest::kStop);
    clock_.Refresh();
    time::ShowRealTicks();
  }
}

std::size_t Flusher::TakeDropped() { return dropped_.exchange(0); }

void Flusher::Put(const RecordGroup& group, BufferWriter* buffers) {
  if (group.count() > 0 && !buffers->Put(group)) dropped_ += group.count();
}

void Flusher::PutCalls(const Watch::Batch& batch, BufferWriter* buffers) {
  RecordGroup group;
  for (const WatchedCall& call : batch.calls) {
    group.Clear();
    AddExternal(call.external, call.correlation, &group);
    CUpti_ActivityAPI record{};
    record.kind =
        call.name.api == Api::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    record.cbid = call.name.id;
    record.start = clock_.FromRank(call.begin_ps);
    record.end = clock_.FromRank(call.end_ps);
    record.processId = static_cast<std::uint32_t>(getpid());
    record.threadId = call.thread;
    record.correlationId = call.correlation;
    group.Add(record);
    Put(group, buffers);
  }
}

void Flusher::PutHostRecords(const Watch::Batch& batch, BufferWriter* buffers) {
  RecordGroup group;
  for (const HostRecord& kept : batch.host) {
    group.Clear();
    std::visit(
        [&](auto record) {
          if constexpr (requires { record.timestamp; }) {
            record.timestamp = clock_.FromRank(record.timestamp);
          }
          group.Add(record);
        },
        kept);
    Put(group, buffers);
  }
}

// In the order of the program: a profiler takes what an event waits for from its last record.
void Flusher::PutWaits(const Watch::Batch& batch, BufferWriter* buffers) {
  auto event = batch.events.begin();
  for (const WatchedWait& wait : batch.waits) {
    for (; event != batch.events.end() && event->correlation < wait.correlation; ++event) {
      PutEvent(*event, buffers);
    }
    PutWait(wait, buffers);
  }
  for (; event != batch.events.end(); ++event) PutEvent(*event, buffers);
}

void Flusher::PutEvent(const RecordedEvent& event, BufferWriter* buffers) {
  CUpti_ActivityCudaEvent2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.correlationId = event.correlation;
  record.deviceId = OrdinalOf(event.ring_device);
  record.contextId = ContextNumber(record.deviceId);
  record.streamId = StreamNumber(event.stream);
  record.eventId = event.event;
  RecordGroup group;
  group.Add(record);
  Put(group, buffers);
}

void Flusher::PutWait(const WatchedWait& wait, BufferWriter* buffers) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = wait.type;
  record.start = clock_.FromRank(wait.begin_ps);
  record.end = clock_.FromRank(wait.end_ps);
  record.correlationId = wait.correlation;
  record.contextId = ContextNumber(OrdinalOf(wait.ring_device));
  record.streamId = wait.stream == kNoStream
                        ? static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)
                        : StreamNumber(wait.stream);
  record.cudaEventId = wait.event == 0
                           ? static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)
                           : wait.event;
  RecordGroup group;
  group.Add(record);
  Put(group, buffers);
}

void Flusher::PutOperation(const ring::CompletedOperation& operation, BufferWriter* buffers) {
  const auto found = open_.find(operation.record);
  if (found == open_.end()) {
    ++dropped_;
    return;
  }
  IssuedWork& work = found->second;
  RecordGroup group;
  AddExternal(work.external, work.correlation, &group);
  const std::size_t before = group.count();
  AddDeviceRecord(
      work, operation,
      {.begin = clock_.FromRank(operation.start_ps), .end = clock_.FromRank(operation.end_ps)},
      &group);
  if (group.count() > before) Put(group, buffers);
  ++work.reported;
  if (IsAllReported(work)) open_.erase(found);
}

std::vector<ring::CompletedOperation> Flusher::TakeOperations() {
  std::vector<ring::CompletedOperation> all;
  while (true) {
    const Taken taken = AskAgent(ring::ActivityRequest::kTake);
    dropped_ += taken.dropped;
    all.insert(all.end(), taken.operations.begin(), taken.operations.end());
    if (!taken.more) return all;
  }
}

void Flusher::Flush() {
  const std::lock_guard lock(mutex_);
  if (core::Session::Existing() == nullptr) return;
  if (agent_watches_) clock_.Refresh();
  const std::vector<ring::CompletedOperation> operations = TakeOperations();
  Watch::Batch batch = Watch::Get().Take();
  dropped_ += batch.dropped;
  for (IssuedWork& work : batch.issued) {
    const std::uint64_t position = work.position;
    open_.insert_or_assign(position, std::move(work));
  }
  BeginBuffers();
  PutCalls(batch, buffers_.get());
  PutHostRecords(batch, buffers_.get());
  PutWaits(batch, buffers_.get());
  for (const ring::CompletedOperation& operation : operations) {
    PutOperation(operation, buffers_.get());
  }
  buffers_.reset();
  if (agent_watches_) BeginBuffers();
}

}  // namespace eidolon::shim::cupti
