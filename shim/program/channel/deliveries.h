// Notes the time at which bytes were sent, and finds it for the bytes that a reader got
// (services/contract/channel). Thread safe, also between processes, some of which may die at any
// moment.
#pragma once

#include <cstdint>
#include <optional>

#include "services/contract/channel/delivery_table.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::channel {

// A view of the table of the server, which outlives it. Keys are hashes, never 0.
class Deliveries {
 public:
  explicit Deliveries(eidolon::channel::DeliveryTable* table) noexcept : table_(table) {}

  // Notes `bytes` that are sent at `now`. Comes before the call that sends them, or the reader
  // might be faster.
  void Send(std::uint64_t key, std::uint64_t bytes, const time::SentTime& now) noexcept;
  // Withdraws the last `bytes`, which the channel did not accept.
  void TakeBack(std::uint64_t key, std::uint64_t bytes) noexcept;
  // Notes that a reader got `bytes`, and returns when the last of them was sent; nothing if that is
  // not known.
  std::optional<time::SentTime> Receive(std::uint64_t key, std::uint64_t bytes) noexcept;

 private:
  eidolon::channel::Channel* Lock(std::uint64_t key, bool make) noexcept;
  eidolon::channel::Channel* LockOldest(std::uint64_t key) noexcept;

  eidolon::channel::DeliveryTable* table_;
};

}  // namespace eidolon::shim::channel
