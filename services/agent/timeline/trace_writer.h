// Writes a trace that ui.perfetto.dev and Perfetto's trace processor open: tracks, slices with
// arguments, counters, arrows.
//
//   file = Zstandard(TracePacket*)    packets of one writer share a sequence number
//
// A trace is a sequence of packets and nothing else, so files of several writers put behind each
// other are one trace, when their sequence numbers and their tracks' uuids differ.
//
// What a program does again shall be the same bytes again: times are those since the packet before,
// and events are of the track that the packets' defaults name, as long as one track is written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "services/agent/timeline/compressed_file.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::perfetto::v1 {
class InternedName;
class TracePacket;
}  // namespace eidolon::perfetto::v1

namespace eidolon::agent::timeline {

// Texts must be UTF-8.
struct Argument {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view> value;
};

struct SliceBegin {
  std::uint64_t track = 0;
  base::SimTime at;
  std::string_view name;
  std::string_view category;
  std::span<const Argument> arguments;
  std::span<const std::uint64_t> flows;            // Numbers of arrows that touch the slice.
  std::span<const std::uint64_t> last_flows = {};  // That end there, and free their numbers.
};

enum class CounterUnit : std::uint8_t { kCount, kBytes };

// Times are rounded down to nanoseconds, Perfetto's unit: slices that touch still touch. Owns its
// file; no threads. Nothing is thrown or printed: Finish says whether all was written.
class TraceWriter {
 public:
  // `sequence`: not 0, of this writer alone.
  TraceWriter(const std::string& path, std::uint32_t sequence);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Tracks come before what lies on them.
  struct Process {
    std::uint64_t uuid = 0;
    std::int32_t pid = 0;
    std::string name;
  };
  void AddProcess(const Process& process);
  struct Track {
    std::uint64_t uuid = 0;
    std::uint64_t parent = 0;  // 0: none.
    std::string name;
    std::int32_t order = 0;  // Among the parent's tracks.
    std::string description;
  };
  void AddTrack(const Track& track);
  void AddCounter(const Track& track, CounterUnit unit);

  // Slices of one track begin and end in the order of their times, nested or one after another.
  void Begin(const SliceBegin& slice);
  void End(std::uint64_t track, base::SimTime at);
  void Count(std::uint64_t track, base::SimTime at, std::int64_t value);

  // Converts to nanoseconds, in which times are written.
  static std::uint64_t Nanoseconds(base::SimTime time) {
    return static_cast<std::uint64_t>(time.ps < 0 ? 0 : time.ps / 1000);
  }

  // Writes what is left. Call once, at last.
  base::Result<void> Finish();

 private:
  // Names of one kind, with the numbers that packets use instead.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Table = std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>>;
  std::uint64_t Intern(Table* table, std::string_view name,
                       perfetto::v1::InternedName* (*add)(perfetto::v1::TracePacket*));
  void AddDescriptor(const Track& track);
  // Clocks, and a beginning of what is interned.
  void Introduce();
  // Chooses what the packet contains of an event's track; 0: nothing, as it is the default.
  std::uint64_t Choose(std::uint64_t track);
  // Returns the time since the packet before; a time before that one is negative in 64 bits.
  std::uint64_t Advance(base::SimTime at);
  void Put();  // Appends packet_ to block_ and clears it.
  void FlushWhenFull();

  CompressedFile file_;
  std::uint32_t sequence_;
  std::uint32_t flags_ = 0;
  std::uint64_t time_ns_ = 0;        // Of the packet before.
  std::uint64_t default_track_ = 0;  // Of events that name none.
  std::uint64_t last_track_ = 0;     // Of the event before.
  std::unique_ptr<perfetto::v1::TracePacket> packet_;
  std::string block_;
  Table names_;
  Table categories_;
  Table argument_names_;
  Table texts_;
};

}  // namespace eidolon::agent::timeline
