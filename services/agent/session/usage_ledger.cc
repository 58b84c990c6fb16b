#include "services/agent/session/usage_ledger.h"

#include <algorithm>

#include "services/agent/ring/record_check.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

namespace {

void Count(const std::string& where, std::map<std::string, std::uint64_t>* counts) {
  if (counts->size() < kMostSites || counts->contains(where)) ++(*counts)[where];
}

}  // namespace

base::Result<void> UsageLedger::Book(const wire::MemoryRecord& record) {
  return now_.memory.Add(record);
}

void UsageLedger::RefuseCall(const std::string& name, std::uint64_t times) {
  now_.refused_calls[name] += std::max<std::uint64_t>(times, 1);
}

void UsageLedger::NoteGuessedCollective(const std::string& site) {
  ++now_.guessed_collectives;
  if (!site.empty()) Count(site, &now_.guessed_sites);
}

void UsageLedger::NoteWorkDifference(const std::string& where) {
  ++now_.work_differences_total;
  Count(where, &now_.work_differences);
}

void UsageLedger::NoteUnknownRead(const wire::MarkRecord& mark) {
  ++now_.unknown_reads;
  const auto source = now_.unknown_sources.find(mark.reserved);
  if (source == now_.unknown_sources.end()) return;
  ++source->second.reads;
  source->second.bytes += mark.id;
}

void UsageLedger::NoteUnknownSource(const wire::MarkRecord& mark) {
  if (now_.unknown_sources.size() >= wire::kMostUnknownSources) return;
  now_.unknown_sources[mark.id] = {.source = wire::SplitUnknownSource(ring::NameAfter(mark)),
                                   .declaration = mark.reserved};
}

}  // namespace eidolon::agent::session
