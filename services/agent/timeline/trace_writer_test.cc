#include "services/agent/timeline/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "services/agent/timeline/trace_reader_test.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::agent::timeline {
namespace {

using base::SimTime;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class TraceWriterTest : public ::testing::Test {
 protected:
  eidolon::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "trace.pftrace";
};

TEST_F(TraceWriterTest, SlicesComeBackWithTheirTrackNamesArgumentsAndFlows) {
  TraceWriter writer(path_, 1);
  writer.AddProcess({.uuid = 1, .pid = 1, .name = "server 0"});
  writer.AddTrack({.uuid = 2, .parent = 1, .name = "stream", .description = ""});
  const std::array<Argument, 3> arguments = {
      {{"bytes", std::int64_t{-7}}, {"error", 0.25}, {"source", "measured"}}};
  const std::array<std::uint64_t, 2> flows = {11, 12};
  for (int i = 0; i < 2; ++i) {
    writer.Begin({.track = 2,
                  .at = SimTime{1'999 + i * 10'000},
                  .name = "kernel",
                  .category = "kernel",
                  .arguments = arguments,
                  .flows = flows});
    writer.End(2, SimTime{5'000 + i * 10'000});
  }
  ASSERT_TRUE(writer.Finish().has_value());

  const TraceReader trace(path_);

  EXPECT_THAT(trace.tracks(), ElementsAre("server 0", "stream"));
  ASSERT_EQ(trace.slices().size(), 2u);
  const ReadSlice& slice = trace.slices()[1];
  EXPECT_EQ(slice.track, "stream");
  EXPECT_EQ(slice.name, "kernel");
  EXPECT_EQ(slice.start, 11u);  // Rounded down.
  EXPECT_EQ(slice.end, 15u);
  EXPECT_THAT(slice.flows, ElementsAre(11u, 12u));
  EXPECT_THAT(slice.arguments, UnorderedElementsAre(Pair("bytes", "-7"), Pair("error", "0.250000"),
                                                    Pair("source", "measured")));
}

TEST_F(TraceWriterTest, FilesOfSeveralWritersPutTogetherAreOneTrace) {
  const std::string second = path_ + ".2";
  for (const std::uint32_t number : {1u, 2u}) {
    TraceWriter writer(number == 1 ? path_ : second, number);
    writer.AddTrack({.uuid = number, .name = "track " + std::to_string(number), .description = ""});
    writer.Count(number, SimTime{5'000}, number);
    ASSERT_TRUE(writer.Finish().has_value());
  }
  {
    std::ofstream both(path_, std::ios::app | std::ios::binary);
    both << std::ifstream(second, std::ios::binary).rdbuf();
  }
  std::filesystem::remove(second);

  const TraceReader trace(path_);

  ASSERT_EQ(trace.counts().size(), 2u);
  EXPECT_EQ(trace.counts()[0].track, "track 1");
  EXPECT_EQ(trace.counts()[1].track, "track 2");
  EXPECT_EQ(trace.counts()[1].value, 2);
}

TEST_F(TraceWriterTest, TracksMayBeWrittenInTurnsAndOneBehindAnother) {
  TraceWriter writer(path_, 1);
  for (const std::uint64_t track : {2u, 3u}) {
    writer.AddTrack({.uuid = track, .name = std::to_string(track), .description = ""});
  }
  const auto slice = [&](std::uint64_t track, std::int64_t begin, std::int64_t end) {
    writer.Begin({.track = track,
                  .at = SimTime{begin * 1000},
                  .name = "kernel",
                  .category = "kernel",
                  .arguments = {},
                  .flows = {}});
    writer.End(track, SimTime{end * 1000});
  };
  slice(2, 0, 5);
  slice(2, 5, 9);
  for (int i = 0; i < 3; ++i) {
    slice(3, 10 * i, 10 * i + 4);
    slice(2, 10 * i + 10, 10 * i + 15);
  }
  ASSERT_TRUE(writer.Finish().has_value());

  const TraceReader trace(path_);

  const auto times = [&](const char* track) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const ReadSlice& read : trace.On(track)) found.emplace_back(read.start, read.end);
    return found;
  };
  EXPECT_THAT(times("2"),
              ElementsAre(Pair(0, 5), Pair(5, 9), Pair(10, 15), Pair(20, 25), Pair(30, 35)));
  EXPECT_THAT(times("3"), ElementsAre(Pair(0, 4), Pair(10, 14), Pair(20, 24)));
}

TEST_F(TraceWriterTest, WhatRepeatsTakesNoSpace) {
  TraceWriter writer(path_, 1);
  writer.AddTrack({.uuid = 2, .name = "stream", .description = ""});
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const std::string name = "kernel " + std::to_string(i % 50);
    const std::array<std::uint64_t, 1> flow = {static_cast<std::uint64_t>(i % 50)};
    writer.Begin({.track = 2,
                  .at = SimTime{i * 7'000'000},
                  .name = name,
                  .category = "kernel",
                  .arguments = {},
                  .flows = {},
                  .last_flows = flow});
    writer.End(2, SimTime{i * 7'000'000 + 5'000'000});
  }

  ASSERT_TRUE(writer.Finish().has_value());

  EXPECT_LT(std::filesystem::file_size(path_), 10'000u);
}

TEST_F(TraceWriterTest, ManyPacketsAreWrittenInSeveralBlocks) {
  TraceWriter writer(path_, 1);
  writer.AddTrack({.uuid = 2, .name = "count", .description = ""});
  constexpr std::int64_t kCounts = 100'000;
  for (std::int64_t i = 0; i < kCounts; ++i) writer.Count(2, SimTime{i * 1'000'000}, i);
  ASSERT_TRUE(writer.Finish().has_value());

  const TraceReader trace(path_);

  ASSERT_EQ(trace.counts().size(), static_cast<std::size_t>(kCounts));
  EXPECT_EQ(trace.counts().back().value, kCounts - 1);
  EXPECT_LT(std::filesystem::file_size(path_), 1'500'000u);
}

TEST_F(TraceWriterTest, SaysThatAFileCannotBeWritten) {
  TraceWriter writer("/does/not/exist/trace", 1);
  writer.Count(2, SimTime{}, 1);

  const auto done = writer.Finish();

  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, ::testing::HasSubstr("/does/not/exist/trace"));
}

}  // namespace
}  // namespace eidolon::agent::timeline
