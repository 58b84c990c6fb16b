// Watches this process while activity is enabled: calls, what they put on streams, and waits. When
// that ran on the device is asked of the agent later (flush.h).
//
// Off, nothing is kept and calls are not watched. On, at most kKeptMax of each is kept until the
// next flush; what comes beyond is counted as dropped.
#pragma once

#include <cupti.h>

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/contract/ring/record_header.h"
#include "shim/core/call_observer.h"
#include "shim/core/spin_lock.h"
#include "shim/vendor/cupti/callback_name.h"
#include "shim/vendor/cupti/callbacks.h"
#include "shim/vendor/cupti/host_record.h"
#include "shim/vendor/cupti/issued_work.h"

namespace eidolon::shim::cupti {

inline constexpr std::size_t kKeptMax = std::size_t{1} << 20;

struct WatchedCall {
  std::uint32_t correlation;
  std::uint32_t thread;
  CallbackName name;  // kRuntime or kDriver.
  std::uint64_t begin_ps;
  std::uint64_t end_ps;
  std::vector<ExternalId> external;
};

struct WatchedWait {
  std::uint32_t correlation;
  CUpti_ActivitySynchronizationType type;
  std::uint16_t ring_device;
  std::uint32_t stream;  // Ring identifier; kNoStream: all of the device.
  std::uint32_t event;   // 0: none.
  std::uint64_t begin_ps;
  std::uint64_t end_ps;
};
inline constexpr std::uint32_t kNoStream = 0xffffffff;

struct RecordedEvent {
  std::uint32_t correlation;
  std::uint16_t ring_device;
  std::uint32_t stream;
  std::uint32_t event;
};

// All threads; one per process.
class Watch final : public core::CallObserver {
 public:
  static Watch& Get();

  // Takes effect with the next call. Enabling the first kind begins to watch.
  void Enable(CUpti_ActivityKind kind, bool enable);
  bool IsEnabled(CUpti_ActivityKind kind) const;
  bool IsWatching() const;
  // What the program subscribed to has changed.
  void FollowCallbacks();
  // A single call's records, once its API is enabled.
  void EnableCall(Api api, CUpti_CallbackId id, bool enable);

  // A record that is complete but for its clock; left out when its kind is not wanted.
  void KeepRecord(const HostRecord& record) noexcept;
  // Returns whether any of them may be wanted.
  bool any_host_records() const { return host_records_.load(std::memory_order_relaxed); }
  // Of the calling thread's call; 0: none.
  static std::uint32_t CurrentCorrelation();

  // While a call of a library is in progress on this thread: what it launches, as a call of its
  // own.
  std::optional<TellableCall> LaunchOfLibrary();

  struct Batch {
    std::vector<WatchedCall> calls;
    std::vector<IssuedWork> issued;
    std::vector<WatchedWait> waits;
    std::vector<RecordedEvent> events;
    std::vector<HostRecord> host;
    std::size_t dropped = 0;
  };
  Batch Take();

  void CallBegan(const char* name, base::SimTime began,
                 const core::CallArguments* arguments) noexcept override;
  void CallEnded(base::SimTime now, std::uint64_t result) noexcept override;
  void WorkIssued(const ring::RecordHeader& record,
                  std::span<const std::span<const std::byte>> tail,
                  std::uint64_t position) noexcept override;
  void WaitEnded(const ring::RecordHeader& question, std::uint64_t end_ps) noexcept override;

 private:
  Watch() = default;
  bool WantsCall(CallbackName name) const;
  // Counts what is kept beyond the limit. Requires: lock_ held.
  template <typename T>
  void Keep(std::vector<T>* kept, T value);
  void KeepCall(CallbackName name, std::uint32_t correlation, std::uint64_t begin_ps,
                std::uint64_t end_ps);
  // Returns the correlation of what the calling thread issues now.
  std::uint32_t CorrelationOfIssue(std::uint64_t now_ps);
  static void TellOfLibrary(const IssuedWork& work);
  void NoteStreamOperation(const ring::RecordHeader& record, std::uint32_t correlation);
  // Is told of what somebody wants. Requires: lock_ held.
  void FollowLocked();

  static constexpr std::size_t kCalls = 1024;  // More than either API has.

  std::atomic<std::uint32_t> next_correlation_{1};
  std::atomic<bool> host_records_{false};
  mutable core::SpinLock lock_;  // Guards what follows.
  ActivityKinds enabled_;
  std::bitset<kCalls> disabled_runtime_;
  std::bitset<kCalls> disabled_driver_;
  Batch batch_;
};

// The stack of numbers of the calling thread and a kind; null for a kind that does not exist.
std::vector<std::uint64_t>* ExternalStackOf(CUpti_ExternalCorrelationKind kind);

// Sets how activity records name the calling thread from now on: by its pthread_t, or by the
// system.
void UseSystemThreadIds(bool use);
bool UsesSystemThreadIds();
std::uint32_t ThreadNumber();

}  // namespace eidolon::shim::cupti
