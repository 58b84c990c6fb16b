// Reads a trace back for tests: packets in their order, with what they have interned put in.
#pragma once

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "eidolon/perfetto/v1/trace.pb.h"

namespace eidolon::agent::timeline {

struct ReadSlice {
  std::string track;
  std::string name;
  std::string category;
  std::uint64_t start = 0;  // Nanoseconds.
  std::uint64_t end = 0;
  std::size_t depth = 0;
  std::map<std::string, std::string> arguments;
  std::vector<std::uint64_t> flows;
};

struct ReadCount {
  std::string track;
  std::uint64_t at = 0;
  std::int64_t value = 0;
};

// One trace. Slices in the order of their ends.
class TraceReader {
 public:
  explicit TraceReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    perfetto::v1::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(Decompress(bytes.str())));
    for (const auto& packet : trace.packet()) Read(packet);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << tracks_[track];
  }

  const std::vector<ReadSlice>& slices() const { return slices_; }
  const std::vector<ReadCount>& counts() const { return counts_; }
  // Times and values of a counter.
  std::vector<std::pair<std::uint64_t, std::int64_t>> Counts(const std::string& track) const {
    std::vector<std::pair<std::uint64_t, std::int64_t>> found;
    for (const ReadCount& count : counts_) {
      if (count.track == track) found.emplace_back(count.at, count.value);
    }
    return found;
  }
  std::vector<std::string> tracks() const {
    std::vector<std::string> names;
    for (const auto& [uuid, name] : tracks_) names.push_back(name);
    return names;
  }
  // The slices of a track.
  std::vector<ReadSlice> On(const std::string& track) const {
    std::vector<ReadSlice> found;
    for (const ReadSlice& slice : slices_) {
      if (slice.track == track) found.push_back(slice);
    }
    return found;
  }

 private:
  using Names = std::map<std::uint64_t, std::string>;

  // Frames behind each other.
  static std::string Decompress(const std::string& bytes) {
    std::string all, some(ZSTD_DStreamOutSize(), '\0');
    ZSTD_DCtx* context = ZSTD_createDCtx();
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    while (left != 0 || in.pos < in.size) {
      ZSTD_outBuffer out{some.data(), some.size(), 0};
      left = ZSTD_decompressStream(context, &out, &in);
      EXPECT_EQ(ZSTD_isError(left), 0u);
      if (ZSTD_isError(left) != 0 || (out.pos == 0 && in.pos == in.size && left != 0)) break;
      all.append(some, 0, out.pos);
    }
    ZSTD_freeDCtx(context);
    return all;
  }

  void Read(const perfetto::v1::TracePacket& packet) {
    for (const auto& name : packet.interned_data().event_names()) names_[name.iid()] = name.name();
    for (const auto& name : packet.interned_data().event_categories()) {
      categories_[name.iid()] = name.name();
    }
    for (const auto& name : packet.interned_data().debug_annotation_names()) {
      argument_names_[name.iid()] = name.name();
    }
    for (const auto& name : packet.interned_data().debug_annotation_string_values()) {
      texts_[name.iid()] = name.name();
    }
    if (packet.has_track_descriptor()) {
      const auto& track = packet.track_descriptor();
      EXPECT_TRUE(track.parent_uuid() == 0 || tracks_.contains(track.parent_uuid()));
      tracks_[track.uuid()] = track.has_process() ? track.process().process_name() : track.name();
    }
    ReadClock(packet);
    if (!packet.has_track_event()) return;
    ASSERT_TRUE(packet.has_timestamp());
    std::uint64_t& time = times_[packet.trusted_packet_sequence_id()];
    time += packet.timestamp();
    ReadEvent(time, packet);
  }

  // Every time is one since the packet before of its sequence.
  void ReadClock(const perfetto::v1::TracePacket& packet) {
    for (const auto& clock : packet.clock_snapshot().clocks()) {
      EXPECT_TRUE(clock.has_timestamp());
      EXPECT_EQ(clock.is_incremental(), clock.clock_id() >= 64);
      if (clock.is_incremental()) times_[packet.trusted_packet_sequence_id()] = clock.timestamp();
    }
    if (!packet.has_trace_packet_defaults()) return;
    EXPECT_EQ(packet.trace_packet_defaults().timestamp_clock_id(), 64u);
    default_tracks_[packet.trusted_packet_sequence_id()] =
        packet.trace_packet_defaults().track_event_defaults().track_uuid();
  }

  void ReadEvent(std::uint64_t at, const perfetto::v1::TracePacket& packet) {
    const perfetto::v1::TrackEvent& event = packet.track_event();
    const std::uint64_t uuid = event.track_uuid() != 0
                                   ? event.track_uuid()
                                   : default_tracks_.at(packet.trusted_packet_sequence_id());
    const std::string& track = tracks_.at(uuid);
    auto& open = open_[uuid];
    if (event.type() == perfetto::v1::TrackEvent::TYPE_COUNTER) {
      counts_.push_back({.track = track, .at = at, .value = event.counter_value()});
    } else if (event.type() == perfetto::v1::TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open.empty()) << track;
      EXPECT_GE(at, open.back().start);
      open.back().end = at;
      slices_.push_back(open.back());
      open.pop_back();
    } else {
      EXPECT_GE(at, last_[uuid]) << track;
      ReadSlice slice{.track = track,
                      .name = names_.at(event.name_iid()),
                      .category = categories_.at(event.category_iids(0)),
                      .start = at,
                      .depth = open.size(),
                      .arguments = {},
                      .flows = {event.flow_ids().begin(), event.flow_ids().end()}};
      slice.flows.insert(slice.flows.end(), event.terminating_flow_ids().begin(),
                         event.terminating_flow_ids().end());
      for (const auto& argument : event.debug_annotations()) {
        slice.arguments[argument_names_.at(argument.name_iid())] = TextOf(argument);
      }
      open.push_back(slice);
    }
    last_[uuid] = at;
  }

  std::string TextOf(const perfetto::v1::DebugAnnotation& argument) const {
    if (argument.has_int_value()) return std::to_string(argument.int_value());
    if (argument.has_double_value()) return std::to_string(argument.double_value());
    return texts_.at(argument.string_value_iid());
  }

  Names names_, categories_, argument_names_, texts_, tracks_;
  std::map<std::uint64_t, std::vector<ReadSlice>> open_;
  std::map<std::uint64_t, std::uint64_t> last_;
  std::map<std::uint32_t, std::uint64_t> times_, default_tracks_;  // By sequence.
  std::vector<ReadSlice> slices_;
  std::vector<ReadCount> counts_;
};

}  // namespace eidolon::agent::timeline
