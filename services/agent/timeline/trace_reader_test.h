// Reads a trace back for tests: packets in their order, with what they have interned put in.
#pragma once

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

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
    perfetto::v1::Trace outer;
    EXPECT_TRUE(outer.ParseFromString(bytes.str()));
    for (const auto& packet : outer.packet()) {
      google::protobuf::io::ArrayInputStream in(
          packet.compressed_packets().data(), static_cast<int>(packet.compressed_packets().size()));
      google::protobuf::io::GzipInputStream zlib(&in, google::protobuf::io::GzipInputStream::ZLIB);
      perfetto::v1::Trace trace;
      EXPECT_TRUE(trace.ParseFromZeroCopyStream(&zlib));
      for (const auto& inner : trace.packet()) Read(inner);
    }
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
    if (packet.has_track_event()) ReadEvent(packet.timestamp(), packet.track_event());
  }

  void ReadEvent(std::uint64_t at, const perfetto::v1::TrackEvent& event) {
    const std::string& track = tracks_.at(event.track_uuid());
    auto& open = open_[event.track_uuid()];
    if (event.type() == perfetto::v1::TrackEvent::TYPE_COUNTER) {
      counts_.push_back({.track = track, .at = at, .value = event.counter_value()});
    } else if (event.type() == perfetto::v1::TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open.empty()) << track;
      EXPECT_GE(at, open.back().start);
      open.back().end = at;
      slices_.push_back(open.back());
      open.pop_back();
    } else {
      EXPECT_GE(at, last_[event.track_uuid()]) << track;
      ReadSlice slice{.track = track,
                      .name = names_.at(event.name_iid()),
                      .category = categories_.at(event.category_iids(0)),
                      .start = at,
                      .depth = open.size(),
                      .arguments = {},
                      .flows = {event.flow_ids().begin(), event.flow_ids().end()}};
      for (const auto& argument : event.debug_annotations()) {
        slice.arguments[argument_names_.at(argument.name_iid())] = TextOf(argument);
      }
      open.push_back(slice);
    }
    last_[event.track_uuid()] = at;
  }

  std::string TextOf(const perfetto::v1::DebugAnnotation& argument) const {
    if (argument.has_int_value()) return std::to_string(argument.int_value());
    if (argument.has_double_value()) return std::to_string(argument.double_value());
    return texts_.at(argument.string_value_iid());
  }

  Names names_, categories_, argument_names_, texts_, tracks_;
  std::map<std::uint64_t, std::vector<ReadSlice>> open_;
  std::map<std::uint64_t, std::uint64_t> last_;
  std::vector<ReadSlice> slices_;
  std::vector<ReadCount> counts_;
};

}  // namespace eidolon::agent::timeline
