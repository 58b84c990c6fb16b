#include "services/agent/timeline/link_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/agent/timeline/render.h"
#include "services/agent/timeline/trace_reader_test.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::agent::timeline {
namespace {

using base::SimTime;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;

TEST(LinkLoadsTest, ALinkThatIsUsedHasACounterUpToTheEndOfTheWindow) {
  eidolon::testing::TemporaryDirectory folder;
  const std::string path = folder / "trace.pftrace";
  TraceWriter writer(path, 1);
  writer.AddProcess({.uuid = ServerTrack(1), .pid = 2, .name = "server 1"});
  RenderLinkLoads(1,
                  {{.name = "NIC 0 out", .changes = {{SimTime{1'000'000}, 0}}},
                   {.name = "NIC 1 out",
                    .changes = {{SimTime{1'000'000}, 0},
                                {SimTime{2'000'000}, 50'000'000'000},
                                {SimTime{3'000'000}, 0}}}},
                  SimTime{9'000'000}, &writer);
  ASSERT_TRUE(writer.Finish().has_value());

  const TraceReader trace(path);

  EXPECT_THAT(trace.tracks(), Not(Contains("NIC 0 out: bytes per second")));
  EXPECT_THAT(
      trace.Counts("NIC 1 out: bytes per second"),
      ElementsAre(Pair(1'000, 0), Pair(2'000, 50'000'000'000), Pair(3'000, 0), Pair(9'000, 0)));
}

}  // namespace
}  // namespace eidolon::agent::timeline
