// The algorithm is that of client-go's leader election. A Lease is written with the resourceVersion
// that was read (Replace), so of two candidates one gets a conflict: the API server decides, not a
// clock. Clocks of machines may differ, so renewTime is never compared with ours: another holder
// counts as gone when its record has not changed for the duration, by our monotonic clock.
// renewed_ns_ is the time before the write, and renew_deadline_ns must be less than duration_ns;
// both together make the old holder stop before another can begin.
#include "services/controller/kube/lease.h"

#include <chrono>
#include <cstdio>

#include "services/base/log.h"
#include "services/base/utc.h"
#include "services/controller/job/condition.h"

namespace eidolon::controller::kube {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kLeaseVirtualSleep(50);

}  // namespace

std::string FormatMicroTime(std::int64_t unix_ns) {
  std::string seconds = base::FormatUtc(unix_ns);
  seconds.pop_back();
  char micros[16];
  std::snprintf(micros, sizeof micros, ".%06dZ", static_cast<int>(unix_ns / 1000 % 1'000'000));
  return seconds + micros;
}

Lease::Lease(LeaseOptions options, Client* client, const base::RealClock& clock,
             std::function<void()> on_won, std::function<void()> on_lost)
    : options_(std::move(options)),
      client_(*client),
      clock_(clock),
      on_won_(std::move(on_won)),
      on_lost_(std::move(on_lost)) {}

Lease::~Lease() { Stop(); }

void Lease::Start() {
  thread_ = std::thread([this] { Run(); });
}

Answer<json> Lease::Write(json lease, bool exists) {
  return exists ? client_.Replace(kLeases, lease) : client_.Create(kLeases, lease);
}

bool Lease::TryOnce() {
  auto present = client_.Get(kLeases, options_.key);
  const bool exists = present.has_value();
  if (!exists && !present.error().IsNotFound()) return false;
  json lease = exists
                   ? *present
                   : json{{"apiVersion", kLeases.api_version},
                          {"kind", kLeases.kind},
                          {"metadata",
                           {{"name", options_.key.name}, {"namespace", options_.key.name_space}}},
                          {"spec", json::object()}};
  json& spec = lease["spec"];
  const std::string holder = spec.value("holderIdentity", "");
  const std::int64_t now_ns = clock_.MonotonicNs();
  if (!holder.empty() && holder != options_.identity) {
    const std::string seen = holder + spec.value("renewTime", "");
    if (seen != seen_) {
      seen_ = seen;
      seen_ns_ = now_ns;
    }
    if (now_ns - seen_ns_ < options_.duration_ns) return false;
  }
  const std::string now = FormatMicroTime(clock_.UnixNs());
  if (holder != options_.identity) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = spec.value("leaseTransitions", 0) + 1;
  }
  if (!options_.owner.is_null()) {
    lease["metadata"]["ownerReferences"] = json::array({options_.owner});
  }
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = options_.duration_ns / 1'000'000'000;
  spec["renewTime"] = now;
  if (!Write(std::move(lease), exists)) return false;  // Also when another one was quicker.
  renewed_ns_ = now_ns;
  return true;
}

void Lease::Run() {
  while (!stopping_) {
    if (TryOnce()) {
      if (!held_.exchange(true)) on_won_();
    } else if (held_ && clock_.MonotonicNs() - renewed_ns_ > options_.renew_deadline_ns) {
      held_ = false;
      on_lost_();
      return;
    }
    const std::int64_t until_ns = clock_.MonotonicNs() + options_.retry_ns;
    while (!stopping_ && clock_.MonotonicNs() < until_ns)
      std::this_thread::sleep_for(kLeaseVirtualSleep);
  }
}

void Lease::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  if (!held_.exchange(false)) return;
  auto lease = client_.Get(kLeases, options_.key);
  if (!lease || (*lease)["spec"].value("holderIdentity", "") != options_.identity) return;
  (*lease)["spec"]["holderIdentity"] = "";
  (*lease)["spec"]["leaseDurationSeconds"] = 1;
  (*lease)["spec"]["renewTime"] = FormatMicroTime(clock_.UnixNs());
  if (!client_.Replace(kLeases, *lease)) {
    base::Log(base::Level::kWarning, "lease_not_given_back", {{"lease", options_.key.name}});
  }
}

}  // namespace eidolon::controller::kube
