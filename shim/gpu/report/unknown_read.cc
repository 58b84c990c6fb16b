// Reads are noted where they happen, which may be under the lock of the value queue, and sent
// later: a record may wait for space in the ring, and the agent may need this process to go on.
// `waiting` keeps the order, so a source's definition precedes its reads. The number of sources is
// bounded, and reads beyond it are counted without a source. The Python line costs ten microseconds
// and more, so it is sought once per source, unless a declaration needs the line to decide.
#include "shim/gpu/report/unknown_read.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/contract/ring/record.h"
#include "services/contract/ring/unknown_source.h"
#include "shim/core/python_line.h"
#include "shim/core/session.h"
#include "shim/value/compute/trace.h"
#include "shim/value/declared.h"
#include "shim/value/plausible.h"

namespace eidolon::shim::gpu {
namespace {

// What reads are told apart by.
struct SourceKey {
  value::Author author = value::kNobody;
  std::uint32_t pointer = 0;
  std::size_t bytes = 0;
  std::uint32_t declaration = 0;

  auto operator<=>(const SourceKey&) const = default;
};

// A record that waits to be sent: behind locks that must not wait for a full ring.
struct Note {
  ring::MarkRecord record{};
  std::string text;
};

struct Notes {
  std::mutex mutex;  // Guards the rest.
  std::map<SourceKey, std::uint32_t> sources;
  std::vector<Note> waiting;
};

Notes& TheNotes() {
  // Never destroyed: threads may outlive main.
  static auto* const notes = new Notes;
  return *notes;
}

constinit std::atomic<bool> has_waiting{false};

// Code that turned an unknown value into a source.
struct Reader {
  std::string_view given;
  std::string line;  // Empty: sought when the source is new.
};

// The source's number, which is defined when it is new; 0: there are too many.
std::uint32_t FindSource(Notes& notes, const SourceKey& key, const Reader& reader) {
  const auto found = notes.sources.find(key);
  if (found != notes.sources.end()) return found->second;
  if (notes.sources.size() == ring::kMostUnknownSources) return 0;
  const auto number = static_cast<std::uint32_t>(notes.sources.size() + 1);
  notes.sources.emplace(key, number);
  Note note;
  note.record.header.kind = ring::RecordKind::kUnknownSource;
  note.record.id = number;
  note.record.reserved = key.declaration;
  note.text =
      ring::JoinUnknownSource({.writer = value::TitleOf(key.author),
                               .pointer = key.pointer,
                               .line = reader.line.empty() ? core::PythonLine() : reader.line,
                               .given = std::string(reader.given)});
  notes.waiting.push_back(std::move(note));
  return number;
}

void NoteRead(const SourceKey& key, std::size_t unknown_bytes, const Reader& reader) {
  Notes& notes = TheNotes();
  const std::lock_guard guard(notes.mutex);
  Note note;
  note.record.header.kind = ring::RecordKind::kUnknownRead;
  note.record.reserved = FindSource(notes, key, reader);
  note.record.id = unknown_bytes;
  notes.waiting.push_back(std::move(note));
  has_waiting.store(true, std::memory_order_release);
  compute::TraceUnknownRead(unknown_bytes);
}

// What was put into memory: routings are sources without reads, plausible results are read by
// whoever needed them.
void NoteUses() {
  for (const value::Plausible::Use& use : value::ProcessPlausible().TakeUses()) {
    NoteRead({.author = use.author, .bytes = use.bytes}, use.bytes,
             {.given = use.given, .line = {}});
  }
  const std::vector<value::Declared::Use> uses = value::ProcessDeclared().TakeUses();
  if (uses.empty()) return;
  Notes& notes = TheNotes();
  const std::lock_guard guard(notes.mutex);
  for (const value::Declared::Use& use : uses) {
    const std::string given = value::Describe(*use.declaration);
    FindSource(
        notes,
        {.author = use.author, .pointer = use.pointer, .declaration = use.declaration->number},
        {.given = given, .line = {}});
  }
  has_waiting.store(true, std::memory_order_release);
}

std::string_view PolicyWord() { return UnknownByte() == 0 ? "zero" : "one"; }

}  // namespace

unsigned char UnknownByte() noexcept {
  core::Session* session = core::Session::Existing();
  return session == nullptr ? 0
                            : static_cast<unsigned char>(session->header().unknown_reads & 0xff);
}

void NoteHostRead(const value::HostRead& read, value::Store& store) noexcept {
  if (read.unknown_bytes == 0) return;
  try {
    value::Declared& declared = value::ProcessDeclared();
    std::size_t unknown_bytes = read.unknown_bytes;
    if (value::ProvideInvented(store, read.address, read.size)) {
      unknown_bytes = store.Read(read.address, read.host, read.size, UnknownByte());
      if (unknown_bytes == 0) return NoteUses();
    }
    const value::Origin origin = store.authors().Find(read.address);
    SourceKey key{.author = origin.author, .pointer = origin.pointer, .bytes = read.size};
    Reader reader{.given = PolicyWord(), .line = {}};
    if (declared.needs_lines()) reader.line = core::PythonLine();
    const ring::Declaration* const value = declared.FindValue(origin, reader.line);
    std::string given;
    if (value != nullptr && value::FillUnknown(*value, store, read.address, read.host, read.size)) {
      // A value that the host has read stays so, also for kernels that are run.
      store.Write(read.address, read.host, read.size);
      given = value::Describe(*value);
      reader.given = given;
      key.declaration = value->number;
    }
    NoteRead(key, unknown_bytes, reader);
  } catch (...) {  // No memory: the read is not counted.
  }
}

void NoteUnknownResult(std::string_view writer, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  try {
    NoteRead({.author = value::InternAuthor(writer), .bytes = bytes}, bytes,
             {.given = PolicyWord(), .line = {}});
  } catch (...) {
  }
}

void FlushUnknownReads() noexcept {
  if (value::HasDeclaredUses() || value::HasPlausibleUses()) {
    try {
      NoteUses();
    } catch (...) {
    }
  }
  if (!has_waiting.load(std::memory_order_acquire)) return;
  core::Session* session = core::Session::Existing();
  Notes& notes = TheNotes();
  std::vector<Note> waiting;
  {
    const std::lock_guard guard(notes.mutex);
    waiting.swap(notes.waiting);
    has_waiting.store(false, std::memory_order_relaxed);
  }
  if (session == nullptr) return;
  for (Note& note : waiting) {
    note.record.name_bytes = static_cast<std::uint32_t>(note.text.size());
    const std::span<const std::byte> text = std::as_bytes(std::span(note.text));
    session->Append(&note.record.header, sizeof(note.record), {&text, 1});
  }
}

}  // namespace eidolon::shim::gpu
