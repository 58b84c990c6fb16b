// The agent's end of the network service: one session, and questions about collectives alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/agent/client/mailbox.h"
#include "services/agent/client/reach.h"
#include "services/base/error.h"

namespace eidolon::network::v1 {
class EstimateCollectiveResponse;
class ReadLinkLoadsResponse;
class Operation;
class SessionRequest;
class SessionResponse;
}  // namespace eidolon::network::v1

namespace eidolon::agent::client {

// One write for all that a step of the main loop has to say: a message of its own costs the service
// more than what it holds. Main loop only; messages and the end come as tasks of the mailbox,
// which outlives the client.
class NetworkClient {
 public:
  struct Options {
    std::string address;
    std::string job;
    std::string token;  // Shown with each call.
    std::uint32_t server = 0;
    bool keep_link_loads = false;  // For ReadLinkLoads.
    std::function<void(const network::v1::SessionResponse&)> on_message;
    std::function<void(const base::Error&)> on_end;  // Once, however the session ends.
  };
  NetworkClient(Options options, Mailbox* mailbox);
  ~NetworkClient();  // Cancels the session.

  // Begins the session once the service is connected. Blocks for as long as `patience` says, then
  // fails with the reason. Once, before all of the below.
  base::Result<void> Open(const Patience& patience);

  // Goes out with the next Flush, in order, or before it when much has come together.
  void Send(network::v1::SessionRequest request);
  void Flush();

  using Answer = std::function<void(base::Result<network::v1::EstimateCollectiveResponse>)>;
  void Estimate(std::uint64_t communicator, const network::v1::Operation& operation, Answer answer);

  // Returns what crossed this server's links from one virtual time to another. Waits for the
  // answer, some seconds at most.
  base::Result<network::v1::ReadLinkLoadsResponse> ReadLinkLoads(std::uint64_t from_ps,
                                                                 std::uint64_t to_ps);
  // Names of links, in their order; empty: there is no such link. Waits likewise.
  base::Result<std::vector<std::string>> ReadLinkNames(const std::vector<std::uint32_t>& links);

 private:
  struct Link;
  std::unique_ptr<Link> link_;
};

}  // namespace eidolon::agent::client
