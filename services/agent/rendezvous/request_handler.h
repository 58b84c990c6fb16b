// Answers requests as a server of c10d::TCPStore does, and for ranks without a process. Pure: no
// sockets, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/agent/rendezvous/key_value_store.h"
#include "services/agent/rendezvous/mirrored_answers.h"
#include "services/agent/rendezvous/request.h"
#include "services/agent/rendezvous/wait_list.h"
#include "services/base/error.h"

namespace eidolon::agent::rendezvous {

// Limits of the store and of one answer.
inline constexpr std::size_t kStoreEntriesMax = 1 << 20;
inline constexpr std::size_t kStoreBytesMax = 1 << 30;

// Clients have numbers. Not thread safe.
class RequestHandler {
 public:
  // Buffer for answers to a client; it stays valid until the next call of the handler.
  using AnswersTo = std::function<std::string*(int client)>;

  struct Options {
    World world;
    std::size_t entries_max = kStoreEntriesMax;
    std::size_t bytes_max = kStoreBytesMax;
  };
  RequestHandler(Options options, AnswersTo answers_to)
      : options_(std::move(options)), answers_to_(std::move(answers_to)) {}

  // Fails when a limit is exceeded; nothing has changed then.
  base::Result<void> Answer(int client, Request request);
  // The client is gone.
  void Forget(int client) { waits_.Cancel(client); }

  // Sentences about what clients wait for and nobody has set. `rank_of` is the number of a client's
  // rank, where it is known.
  using RankOf = std::function<std::optional<std::int64_t>(int client)>;
  std::vector<std::string> DescribeWaits(const RankOf& rank_of) const;

  const KeyValueStore& store() const { return store_; }

 private:
  base::Result<void> CheckRoom(const Request& request) const;
  void Change(int client, Request& request);
  void Look(int client, const Request& request);
  void Add(int client, const Request& request);
  void Push(Request& request);
  void Wait(int client, const Request& request);
  void Barrier(int client, const Request& request);
  void HasArrived(const std::string& key);

  const Options options_;
  const AnswersTo answers_to_;
  KeyValueStore store_;
  WaitList waits_;
};

}  // namespace eidolon::agent::rendezvous
