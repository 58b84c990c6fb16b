// Keeps what one process asked of its GPUs, so that it can be asked again without the process
// (playback.h). The form is that of services/contract/recording/entry.h.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/agent/ring/reader.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/contract/recording/entry.h"
#include "services/contract/recording/entry_writer.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::recording {

namespace kept = ::eidolon::recording;

// Owned by a session. Main loop only.
class Recorder {
 public:
  // `bytes_max`: a longer recording is of no use.
  Recorder(std::string path, std::uint64_t bytes_max) : writer_(std::move(path), bytes_max) {}

  // Each record once, in the ring's order: questions before they are answered, what may stall when
  // it is applied.
  void NoteRecord(const ring::RecordView& record);
  // The thread that waits in `slot` was told of `time`.
  void NoteAnswer(std::uint32_t slot, base::SimTime time);
  // What mirrored ranks put into a collective was guessed; `site`: where the program calls it.
  void NoteGuess(const std::string& site);
  // A line of the output ended an iteration: `sequence` operations were issued before it.
  void NoteIteration(std::uint64_t sequence);
  // No more records. `ended`: the program ended by itself. Again: nothing.
  void Close(base::SimTime clock, bool ended);

  // Returns what is there of the process. Requires: Close was called. The error says why it is of
  // no use. Server, ranks and devices are left to fill in.
  base::Result<kept::RankPart> Take();

 private:
  void Add(std::span<const std::byte> entry);
  template <typename T>
  void AddEntry(kept::EntryKind kind, base::SimTime time, T entry);

  kept::EntryWriter writer_;
  std::bitset<::eidolon::ring::kReplySlots> timed_;  // Slots with a question that is kept.
  std::vector<std::uint64_t> copy_;                  // Words for alignment.
  std::uint64_t last_clock_ps_ = 0;                  // Of the last record that is kept.
  std::uint64_t queries_ = 0;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace eidolon::agent::recording
