// The function that a program wants called when its calls of CUDA begin and end (cuptiSubscribe).
//
// Calls of the runtime and of the driver are told, on the thread that makes them. The real runtime
// launches through the driver, so that launches of kernels and graphs by the runtime are told as
// calls of the driver, too, with the same correlation; other calls are not. What a library launches
// is told when it was launched. Contexts, streams and modules are told as they come and go, waits
// for streams and contexts when they are over, and calls of NVTX when they were made. While nobody
// has subscribed, a call pays nothing.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "shim/core/call_observer.h"
#include "shim/core/resource_observer.h"
#include "shim/vendor/cupti/callback_name.h"

namespace eidolon::shim::cupti {

struct TellableCall {
  CallbackName name;
  const char* function = nullptr;  // As it is exported.
  std::uint32_t correlation = 0;
  const char* symbol = nullptr;  // What a library launches.
};

// All threads; one per process. Whoever subscribes may not be called any more once Unsubscribe has
// returned, except on threads that are in the function.
class Callbacks {
 public:
  static Callbacks& Get();

  // False: there is a subscriber.
  bool Subscribe(CUpti_CallbackFunc function, void* user_data);
  bool Unsubscribe(CUpti_SubscriberHandle subscriber);
  bool IsSubscriber(CUpti_SubscriberHandle subscriber) const;
  CUpti_SubscriberHandle handle() const;
  void SetName(const char* name);
  std::string name() const;

  // CUPTI_ERROR_INVALID_PARAMETER for what does not exist, CUPTI_ERROR_NOT_SUPPORTED for what would
  // never be told.
  CUptiResult Enable(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool enable);
  // All of it that is told.
  void EnableDomain(CUpti_CallbackDomain domain, bool enable);
  bool IsEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id) const;
  // Some call is enabled.
  bool any() const { return enabled_count_.load(std::memory_order_relaxed) > 0; }

  // A call of this thread begins, and ends. `arguments` may be null.
  void Began(const TellableCall& call, const core::CallArguments* arguments) noexcept;
  void Ended(std::uint64_t result) noexcept;
  // A library has launched something.
  void Launched(const TellableCall& call) noexcept;
  // A call of NVTX was made, with parameters as generated_nvtx_meta.h has them.
  void NvtxCalled(CUpti_CallbackId id, const CUpti_NvtxData& call) noexcept;

  // Function that knows, while a library's call is in progress on the calling thread, what it
  // launches.
  using LibraryLaunch = std::optional<TellableCall> (*)();
  void AskForLibraryLaunch(LibraryLaunch find) noexcept { library_launch_ = find; }

  // Receives a change as a core::ResourceObserver does.
  void ResourceChanged(const core::ResourceChange& change) noexcept;
  void StreamSynchronized(void* context, void* stream) noexcept;
  void ContextSynchronized(void* context) noexcept;

 private:
  Callbacks() = default;
  static constexpr std::size_t kCalls = 1024;  // More than either API has.
  using Enabled = std::array<std::atomic<bool>, kCalls>;
  using Function = std::pair<CUpti_CallbackFunc, void*>;
  Enabled* CallsOf(CUpti_CallbackDomain domain);
  Function Subscribed() const;
  // Tells it on this thread, unless that is in the subscriber's function.
  void TellOf(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

  struct Subscriber {
    CUpti_CallbackFunc function = nullptr;
    void* user_data = nullptr;
    std::string name;
  };
  mutable std::mutex mutex_;  // Guards what follows, up to the counters.
  Subscriber subscriber_;
  bool is_subscribed_ = false;

  std::atomic<LibraryLaunch> library_launch_{nullptr};
  std::atomic<int> enabled_count_{0};
  std::array<Enabled, CUPTI_CB_DOMAIN_SIZE> enabled_{};
};

}  // namespace eidolon::shim::cupti
