// Elects the controller that is at work: the holder of a Lease. The figures are those of other
// Kubernetes controllers: 15 s lease, renewed every 2 s, given up when 10 s passed without success.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "services/base/clock.h"
#include "services/controller/kube/client.h"

namespace eidolon::controller::kube {

struct LeaseOptions {
  ObjectKey key;
  std::string identity;  // Unique: the pod's name.
  // An ownerReference, null for none: with that object goes the lease.
  nlohmann::json owner = nullptr;
  std::int64_t duration_ns = 15'000'000'000;
  std::int64_t renew_deadline_ns = 10'000'000'000;
  std::int64_t retry_ns = 2'000'000'000;
};

// Thread safe. The client must outlive it.
class Lease {
 public:
  // `on_won`: we hold the lease now; called once. `on_lost`: we held it and do not any more; the
  // process must end, others are at work. Both from the lease's thread.
  Lease(LeaseOptions options, Client* client, const base::RealClock& clock,
        std::function<void()> on_won, std::function<void()> on_lost);
  ~Lease();

  void Start();
  // Ends the thread; gives the lease back when it is ours.
  void Stop();
  bool IsHeld() const { return held_.load(); }

  // One try; whether we hold the lease after it. For the thread, and for tests.
  bool TryOnce();

 private:
  void Run();
  Answer<nlohmann::json> Write(nlohmann::json lease, bool exists);

  const LeaseOptions options_;
  Client& client_;
  const base::RealClock& clock_;
  const std::function<void()> on_won_, on_lost_;
  std::thread thread_;
  std::atomic<bool> held_ = false;
  std::atomic<bool> stopping_ = false;
  // Of the thread: what we saw of another holder, and when it changed last, by our own clock: the
  // clocks of machines need not agree.
  std::string seen_;
  std::int64_t seen_ns_ = 0;
  std::int64_t renewed_ns_ = 0;
};

// Nanoseconds since 1970 as Kubernetes' MicroTime: "2026-11-21T09:53:36.123456Z".
std::string FormatMicroTime(std::int64_t unix_ns);

}  // namespace eidolon::controller::kube
