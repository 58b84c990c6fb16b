// One rank that does again what it did when it was recorded, on a cluster that may be another one:
// it writes its records into a ring as the shim would, waits where it waited, and works on its host
// as long as it did in between.
//
// The clock of a record is the latest of the one before it and of the answers that the program had
// by then, plus the time that the host worked since. Which answers these are, the recorded times
// tell: those that were given before the record was read, and not after its clock. With answers
// equal to the recorded ones all clocks are the recorded ones.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "services/agent/recording/ring_writer.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/contract/recording/entry_reader.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::recording {

namespace kept = ::eidolon::recording;

// Not thread safe; the agent's main loop drives it.
class Playback {
 public:
  // A line of the output ended an iteration, after so many operations; the program was last told
  // of `told`.
  using IterationEnded = std::function<void(std::uint64_t sequence, base::SimTime told)>;
  struct Options {
    std::uint32_t device_count = 0;
    // Scale of the host's work, in thousandths of its recorded time.
    std::uint32_t host_permille = 1000;
    IterationEnded on_iteration;
  };
  // The segment and the entries outlive it.
  Playback(Options options, kept::EntryReader entries, void* segment)
      : options_(std::move(options)), entries_(std::move(entries)), writer_(segment) {}

  // Writes all that may be written. True when there was something. An error is damage.
  base::Result<bool> Advance();
  // Nothing is left to write, and all was applied: records wait in the ring for costs.
  bool ended() const { return ended_ && writer_.IsDrained(); }

 private:
  struct Given {
    std::uint32_t slot = 0;
    std::uint64_t recorded_ps = 0;
  };
  // The clocks of a moment, then and now.
  struct Moment {
    std::uint64_t recorded_ps = 0;
    std::uint64_t ps = 0;
  };

  base::Result<bool> Step(const kept::EntryView& entry);
  base::Result<bool> Write(const kept::EntryView& entry);
  base::Result<void> Open(const kept::EntryView& question);
  base::Result<bool> Give(const kept::EntryView& entry);
  bool EndIteration(const kept::EntryView& entry);
  bool End(const kept::EntryView& entry);
  std::optional<Moment> BaseOf(std::uint64_t recorded_ps);
  std::uint64_t ClockOf(const Moment& base, std::uint64_t recorded_ps) const;

  Options options_;
  kept::EntryReader entries_;
  RingWriter writer_;
  std::optional<kept::EntryView> next_;
  Moment last_;                // Of the last record.
  std::uint64_t told_ps_ = 0;  // The latest answer.
  std::bitset<::eidolon::ring::kReplySlots> asked_;
  std::vector<Given> given_;  // Answers that no record depends on yet, oldest first.
  bool ended_ = false;
};

}  // namespace eidolon::agent::recording
