// Makes our clients reach a service whose name does not resolve yet, or that refuses connections:
// they try again until a deadline. In a cluster both pass within seconds: a name server loses a
// question, or a Service has no endpoint while its pod is replaced.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace eidolon::agent::client {

// Time for which a service is tried.
struct Patience {
  std::chrono::milliseconds limit{0};
  // Called several times a second on the waiting thread; true ends the wait. May be empty.
  std::function<bool()> is_cancelled;
};

// A channel of its own that looks its name up and connects again every `kRetry`; it shares no
// connection with another one and takes messages of any size.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address);

// Waits for a connection. False: there is none at the end; a call then says why.
bool AwaitConnection(grpc::Channel* channel, const Patience& patience);

// Limits a call that is made without a connection, to learn why there is none.
void LimitToReason(grpc::ClientContext* context);

// "30 s", "0.3 s".
std::string SecondsText(std::chrono::milliseconds time);

inline constexpr std::chrono::milliseconds kRetry{200};

}  // namespace eidolon::agent::client
