// Small results of one communicator's calls: what a rank may ask the bytes of, and the threads that
// wait for them. The oldest results are forgotten, so that a program that never asks costs nothing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// A question about a forgotten result finds no place any more. Main loop only.
class ResultValues {
 public:
  // Results that nobody asked for are forgotten beyond this, the oldest first.
  static constexpr std::size_t kKeptBytes = 16 << 20;
  static constexpr std::size_t kKept = 1 << 16;

  // Registers the place to which the shim's number of a result leads.
  void AddPlace(std::uint64_t number, const ValuePlace& place) { places_[number] = place; }
  std::optional<ValuePlace> FindPlace(std::uint64_t number) const;

  // The bytes, empty when they are not known; nothing while the call's result is not there. Valid
  // until the next Add.
  std::optional<std::string_view> Find(const ValuePlace& place) const;
  // The thread in `slot` waits for them.
  void Await(std::uint32_t slot, const ValuePlace& place) {
    waiting_.push_back({.slot = slot, .place = place});
  }

  // The result of a call has come; `answer` hears of each thread that waited for it.
  using Answer = std::function<void(std::uint32_t slot, std::string_view bytes)>;
  void Add(const CallName& call, bool known, const std::string& payload, const Answer& answer);

  // The slots of all that wait; nobody does any more.
  std::vector<std::uint32_t> TakeWaiting();

 private:
  struct Value {
    bool known = false;
    std::string payload;
  };
  struct Waiting {
    std::uint32_t slot = 0;
    ValuePlace place;
  };
  void ForgetOld();

  std::map<std::uint64_t, ValuePlace> places_;  // For calls that can have small results.
  std::map<CallName, Value> values_;
  std::size_t value_bytes_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace eidolon::agent::session
