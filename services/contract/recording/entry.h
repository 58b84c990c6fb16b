// The entries of one rank, in the order in which its agent read and answered them. An entry is a
// record of the ring (services/contract/ring/record.h) with a check of 0, or one of the kinds
// below, which start with a RecordHeader too; `host_clock_ps` says when.
//
// Left out: questions that cost no time (queries, elapsed times, sensors, values of
// collectives, a profiler's), those of observers, sleeps (the next record's clock holds them), the
// payloads of collectives, what follows a definition for replays on a GPU
// (services/contract/ring/replay.h), and lines of the program.
#pragma once

#include <cstdint>

#include "services/contract/ring/record_header.h"

namespace eidolon::recording {

inline constexpr std::uint16_t kFirstEntryKind = 0x8000;

enum class EntryKind : std::uint16_t {
  kAnswer = kFirstEntryKind,  // AnswerEntry; host_clock_ps: the moment that the program was told.
  kIteration,                 // IterationEntry: a line of the output ended an iteration.
  kEnd,                       // EndEntry: the last one; host_clock_ps: the rank's clock then.
};

// An answer to the question that waits in `slot`.
struct AnswerEntry {
  ring::RecordHeader header;
  std::uint32_t slot;
  std::uint32_t reserved;
};

struct IterationEntry {
  ring::RecordHeader header;
  std::uint64_t sequence;  // Operations issued before it.
};

struct EndEntry {
  ring::RecordHeader header;
};

// Questions whose answer moves the clock.
constexpr bool IsTimedQuestion(ring::RecordKind kind) {
  using ring::RecordKind;
  return kind == RecordKind::kSynchronizeStream || kind == RecordKind::kSynchronizeDevice ||
         kind == RecordKind::kSynchronizeEvent || kind == RecordKind::kCommunicatorInit ||
         kind == RecordKind::kCommunicatorSplit;
}
// Other questions: they are left out.
constexpr bool IsUntimedQuestion(ring::RecordKind kind) {
  using ring::RecordKind;
  return kind == RecordKind::kQueryStream || kind == RecordKind::kQueryEvent ||
         kind == RecordKind::kElapsedTime || kind == RecordKind::kSensors ||
         kind == RecordKind::kWaitUntil || kind == RecordKind::kCollectiveValues ||
         kind == RecordKind::kActivity;
}

// Returns whether its answer may decide something in the program that depends on time.
constexpr bool IsQuery(ring::RecordKind kind) {
  using ring::RecordKind;
  return kind == RecordKind::kQueryStream || kind == RecordKind::kQueryEvent ||
         kind == RecordKind::kElapsedTime;
}

}  // namespace eidolon::recording
