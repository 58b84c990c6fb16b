// What a process has used, as far as its records were applied: memory, calls that were refused,
// host reads of bytes whose values are not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "services/agent/session/memory_ledger.h"
#include "services/contract/ring/record.h"
#include "services/contract/ring/unknown_source.h"

namespace eidolon::agent::session {

// Host reads of unknown bytes of one origin.
struct UnknownReads {
  ::eidolon::ring::UnknownSource source;
  std::uint32_t declaration = 0;  // Of the job, that gave the value; 0: none.
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kMostSites = 32;

struct SessionUsage {
  MemoryLedger memory;
  std::map<std::string, std::uint64_t> refused_calls;
  std::uint64_t unknown_reads = 0;
  std::uint64_t guessed_collectives =
      0;  // Folded jobs: with values of mirrored ranks that may be wrong.
  std::map<std::string, std::uint64_t> guessed_sites;  // Where the program calls them.
  // Folded jobs: where this rank and others that are taken to be alike launch other work.
  std::map<std::string, std::uint64_t> work_differences;
  std::uint64_t work_differences_total = 0;
  std::map<std::uint64_t, UnknownReads> unknown_sources;  // By the process's numbers.
};

// Usage of one session. What counts for the report may be frozen once: when the command is stopped
// after the last wanted iteration is a matter of real time. Main loop only.
class UsageLedger {
 public:
  // Notes call their records by name. Requires: ring::CheckRecord passed.
  base::Result<void> Book(const ::eidolon::ring::MemoryRecord& record);
  void RefuseMemory(const ::eidolon::ring::MemoryRecord& record) { now_.memory.Refuse(record); }
  void NoteActivations(const ::eidolon::ring::MemoryRecord& record) {
    now_.memory.NoteActivations(record);
  }
  void RefuseCall(const std::string& name, std::uint64_t times);
  void NoteUnknownRead(const ::eidolon::ring::MarkRecord& mark);
  // At most kMostUnknownSources; further ones are left out.
  void NoteUnknownSource(const ::eidolon::ring::MarkRecord& mark);
  // Empty: where the program calls it is not known. At most kMostSites are kept.
  void NoteGuessedCollective(const std::string& site);
  void NoteWorkDifference(const std::string& where);
  // What is used from now on is not part of the report.
  void Freeze() { frozen_ = now_; }

  const SessionUsage& now() const { return now_; }
  const SessionUsage& reported() const { return frozen_ ? *frozen_ : now_; }

 private:
  SessionUsage now_;
  std::optional<SessionUsage> frozen_;
};

}  // namespace eidolon::agent::session
