#include "services/network/replay/replay.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "services/network/replay/workload.h"
#include "source_tree.h"

namespace eidolon::network::replay {
namespace {

const std::string kData = EIDOLON_SOURCE_DIR "/services/network/replay/testdata/";

ReplayOptions Free() {
  return {.processor_seconds = [] { return 0.0; }};
}

// testdata/*.flows were made by services/network/bench/generate.py (a2a --hosts 16 --stagger;
// random --k 6 --flows 250; poisson --k 6 --flows 250 --ecmp --load 0.8), *.simgrid by SimGrid 3.32
// (services/network/bench/simgrid_driver.cc): the finish of each flow in nanoseconds.
TEST(ReplayTest, EveryFlowEndsWithinTenNanosecondsOfSimGrid) {
  for (const char* name : {"all_to_all_staggered", "random", "poisson_ecmp"}) {
    const auto file = LoadFlowFile(kData + name + ".flows");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    std::ifstream simgrid(kData + name + ".simgrid");

    const ReplayResult result = Replay(*file, Free());

    EXPECT_EQ(result.completed, file->flows.size());
    for (std::size_t at = 0; at < file->flows.size(); ++at) {
      double expected = 0;
      ASSERT_TRUE(simgrid >> expected) << name;
      EXPECT_NEAR(static_cast<double>(result.finish[at].ps) * 1e-3, expected, 10)
          << name << " flow " << at;
    }
  }
}

TEST(ReplayTest, FlowsWaitForThoseTheyDependOn) {
  FlowFile file;
  file.capacities = {1'000'000'000};
  file.route_links = {0};
  file.route_begin = {0, 1};
  file.dependencies = {0, 1};
  file.flows = {
      {.start_ps = 0, .bytes = 1000, .route = 0},
      {.start_ps = 0, .bytes = 1000, .route = 0, .first_dependency = 0, .dependencies = 1},
      {.start_ps = 9'000'000, .bytes = 1000, .route = 0, .first_dependency = 1, .dependencies = 1}};

  const ReplayResult result = Replay(file, Free());

  EXPECT_EQ(result.finish[0].ps, 1'000'000);
  EXPECT_EQ(result.finish[1].ps, 2'000'000);
  EXPECT_EQ(result.finish[2].ps, 10'000'000);
}

TEST(ReplayTest, StopsAtItsLimit) {
  double seconds = 0;
  const auto result =
      Replay(RailRings({.gpus = 256, .rounds = 40}),
             {.processor_seconds = [&] { return seconds += 0.1; }, .limit_seconds = 0.15});

  EXPECT_TRUE(result.truncated);
}

TEST(WorkloadTest, RailRingsKeepEveryNicBusyAtItsRate) {
  const FlowFile file = RailRings({.gpus = 64, .rounds = 3});

  const ReplayResult result = Replay(file, Free());

  EXPECT_EQ(result.completed, file.flows.size());
  EXPECT_EQ(file.flows.size(), 64u * 3);
}

TEST(WorkloadTest, RandomPairsAllEnd) {
  const FlowFile file = RandomPairs({.gpus = 512, .rounds = 4});

  EXPECT_EQ(Replay(file, Free()).completed, 512u * 4);
}

}  // namespace
}  // namespace eidolon::network::replay
