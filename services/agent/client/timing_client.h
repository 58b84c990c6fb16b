// The agent's end of the timing service: facts of the GPU once, then batches of estimates.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/agent/client/mailbox.h"
#include "services/agent/cost/cost_cache.h"
#include "services/base/error.h"

namespace eidolon::timing::v1 {
class Gpu;
}

namespace eidolon::agent::client {

// Main loop only; answers come as tasks of the mailbox, which outlives the client.
class TimingClient {
 public:
  struct Options {
    std::string address;
    std::string gpu;
    double clock = 0;   // Of its multiprocessors, over the model's; 0: the same.
    std::string token;  // Shown with each call.
    // How long a service that cannot be reached is tried: it may be starting again.
    std::chrono::milliseconds patience{0};
    std::string module_folder;  // Where ranks save the code of modules, when it is wanted.
  };
  TimingClient(const Options& options, Mailbox* mailbox);
  ~TimingClient();  // Cancels what is open.

  // Facts of the GPU model. Blocks; `is_cancelled` as in Patience.
  base::Result<timing::v1::Gpu> Describe(std::function<bool()> is_cancelled);
  // Whether the service measures, and wants replays; known once Describe has succeeded.
  bool measures() const { return measures_; }
  // Returns whose code it may ask for: flags of ring/replay.h; likewise.
  std::uint32_t code_wanted() const { return code_wanted_; }

  using Answer = std::function<void(base::Result<std::vector<common::v1::Estimate>>)>;
  // One estimate a question, in order.
  void Ask(std::vector<cost::CostCache::Question> questions, Answer answer);

 private:
  struct Link;
  std::shared_ptr<Link> link_;
  bool measures_ = false;
  std::uint32_t code_wanted_ = 0;
};

}  // namespace eidolon::agent::client
