// Times that may still be open, and a table of those that something holds: the tail of a stream,
// the last record of an event, the end of a graph's or a communicator's last run. Holders keep the
// number of a slot, so open work can tell them of an end without knowing what they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// The later of `at` and the end of `node`; while that is open, `at` is a lower bound of it. `local`
// is its value on the local timeline (contention.h), which is always known.
struct Signal {
  std::uint64_t node = 0;  // Of open work; 0: nothing open.
  base::SimTime at;
  base::SimTime local;
  // Sequence + 1 of the operation whose end `at` follows from; 0: none, or a call of the host.
  std::uint64_t source = 0;
};

// A node of open work has ended.
struct NodeEnd {
  std::uint64_t node = 0;
  base::SimTime at;
  std::uint64_t source = 0;  // As a signal's.
};

// Of two that end together, the one that was issued later counts, whichever was known first.
inline std::uint64_t SourceOfLater(base::SimTime a, std::uint64_t source_a, base::SimTime b,
                                   std::uint64_t source_b) {
  if (a == b) return std::max(source_a, source_b);
  return a > b ? source_a : source_b;
}

// Owned by the engine; no threads. A slot belongs to one holder from Add to Release and is given
// out again later. Only OpenWork puts open signals in, so that each of them hears of its end.
class SignalTable {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = ~Slot{0};

  // A slot whose signal is complete at time 0.
  Slot Add() {
    if (free_.empty()) {
      signals_.emplace_back();
      return static_cast<Slot>(signals_.size() - 1);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void Release(Slot slot) {
    signals_[slot] = {};
    free_.push_back(slot);
  }

  // The reference lives until the next Add.
  const Signal& operator[](Slot slot) const { return signals_[slot]; }
  void Put(Slot slot, const Signal& signal) { signals_[slot] = signal; }
  void NotBefore(Slot slot, base::SimTime time) {
    Signal& signal = signals_[slot];
    if (time > signal.at) signal.source = 0;
    signal.at = std::max(signal.at, time);
    signal.local = std::max(signal.local, time);
  }
  // The node ends at `bound.at` or later. Other signals are left alone.
  void Raise(Slot slot, const NodeEnd& bound) {
    Signal& signal = signals_[slot];
    if (signal.node == bound.node) MoveTo(bound, &signal);
  }
  // A signal that has moved on to another node, or whose slot has a new holder, is left alone.
  void Close(Slot slot, const NodeEnd& end) {
    Signal& signal = signals_[slot];
    if (signal.node != end.node) return;
    signal.node = 0;
    MoveTo(end, &signal);
  }

 private:
  static void MoveTo(const NodeEnd& end, Signal* signal) {
    signal->source = SourceOfLater(end.at, end.source, signal->at, signal->source);
    signal->at = std::max(signal->at, end.at);
  }

  std::vector<Signal> signals_;
  std::vector<Slot> free_;
};

}  // namespace eidolon::agent::device
