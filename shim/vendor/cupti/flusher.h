// Activity records, from what was watched in this process and what the agent knows of the device,
// handed to the program in its buffers.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "services/contract/ring/activity.h"
#include "shim/vendor/cupti/buffer_writer.h"
#include "shim/vendor/cupti/client_clock.h"
#include "shim/vendor/cupti/watch.h"

namespace eidolon::shim::cupti {

// All threads; one per process. Calls the program's functions without holding Watch's lock.
class Flusher {
 public:
  static Flusher& Get();

  void Register(CUpti_BuffersCallbackRequestFunc request,
                CUpti_BuffersCallbackCompleteFunc complete);
  // Tells the agent whether to keep the times of operations, and lets the program's readings of the
  // tick counter follow virtual time meanwhile.
  void FollowWatch();
  // Calls and waits that are over, and operations that ended by now. Those that did not wait for
  // the next flush.
  void Flush();
  // Returns the number of records dropped since the last call.
  std::size_t TakeDropped();
  ClientClock& clock() { return clock_; }

 private:
  Flusher() = default;
  void BeginBuffers();
  void PutCalls(const Watch::Batch& batch, BufferWriter* buffers);
  void PutHostRecords(const Watch::Batch& batch, BufferWriter* buffers);
  void PutWaits(const Watch::Batch& batch, BufferWriter* buffers);
  void PutEvent(const RecordedEvent& event, BufferWriter* buffers);
  void PutWait(const WatchedWait& wait, BufferWriter* buffers);
  // Operations that ended by now. Counts those that the agent has dropped.
  std::vector<ring::CompletedOperation> TakeOperations();
  void PutOperation(const ring::CompletedOperation& operation, BufferWriter* buffers);
  void Put(const RecordGroup& group, BufferWriter* buffers);

  std::mutex mutex_;  // Guards what follows; held while the program's functions are called.
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  bool agent_watches_ = false;
  std::unique_ptr<BufferWriter> buffers_;  // There is one while records are made.
  // By the position of their records: not all of their operations have ended, as far as is known.
  std::unordered_map<std::uint64_t, IssuedWork> open_;
  ClientClock clock_;
  std::atomic<std::size_t> dropped_{0};  // Not guarded: asked for by the program's functions.
};

}  // namespace eidolon::shim::cupti
