#include "services/agent/client/reach.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "services/base/clock.h"

namespace eidolon::agent::client {
namespace {

constexpr std::int64_t kNsPerReachMs = 1'000'000;
constexpr int kReasonSeconds = 1;

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kRetry.count());
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kRetry.count());
  // A name whose address has changed is not looked up again for 30 s otherwise.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kRetry.count());
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

bool AwaitConnection(grpc::Channel* channel, const Patience& patience) {
  const base::SystemClock clock;
  const std::int64_t until_ns = clock.MonotonicNs() + patience.limit.count() * kNsPerReachMs;
  while (true) {
    const std::int64_t left_ms = (until_ns - clock.MonotonicNs()) / kNsPerReachMs;
    if (left_ms <= 0) return channel->GetState(true) == GRPC_CHANNEL_READY;
    const std::int64_t slice_ms = std::min<std::int64_t>(left_ms, kRetry.count());
    const gpr_timespec limit =
        gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(slice_ms, GPR_TIMESPAN));
    if (channel->WaitForConnected(limit)) return true;
    if (patience.is_cancelled && patience.is_cancelled()) return false;
  }
}

void LimitToReason(grpc::ClientContext* context) {
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                                     gpr_time_from_seconds(kReasonSeconds, GPR_TIMESPAN)));
}

std::string SecondsText(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", static_cast<double>(time.count()) / 1000);
  return text;
}

}  // namespace eidolon::agent::client
