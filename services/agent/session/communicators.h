// One communicator as one rank of this server sees it: numbers of its calls, and the values of
// small results.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace eidolon::agent::session {

// Names one call of a communicator: collectives and groups of sends and receives are counted apart.
struct CallName {
  bool point_to_point = false;
  std::uint64_t sequence = 0;
  auto operator<=>(const CallName&) const = default;
};

// Part of a call's result: a receive is a piece of its group's bytes.
struct ValuePlace {
  CallName call;
  std::size_t offset = 0;
  std::size_t bytes = 0;  // 0: all.
};

struct Communicator {
  std::uint64_t service = 0;  // The network service's number; 0 while joining, or without members.
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t channels = 0;

  // The agent numbers calls itself, because graph launches repeat calls without the shim's numbers.
  std::uint64_t next_collective = 0;
  std::uint64_t next_group = 0;
  std::map<std::pair<std::int32_t, bool>, std::uint64_t> next_transfer;  // By peer and direction.

  std::map<CallName, std::uint64_t> open;  // Calls in the engine: their tokens.

  // Where the shim's numbers lead (values questions), for calls that can have small results.
  std::map<std::uint64_t, ValuePlace> places;
  struct Value {
    bool known = false;
    std::string payload;
  };
  std::map<CallName, Value> values;
  std::size_t value_bytes = 0;
  struct Asked {
    std::uint32_t slot = 0;
    ValuePlace place;
  };
  std::vector<Asked> asked;
};

}  // namespace eidolon::agent::session
