#include "services/agent/device/graph_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "services/agent/device/parts_test.h"

namespace eidolon::agent::device {
namespace {

using ::testing::HasSubstr;

class GraphTableTest : public PartsTest {
 protected:
  static GraphNode Node(std::int64_t us, std::vector<std::uint32_t> dependencies = {}) {
    return {
        .kind = GraphNodeKind::kWork, .work = Kernel(us), .dependencies = std::move(dependencies)};
  }

  GraphTable graphs_{{.gpus = &gpus_,
                      .signals = &signals_,
                      .work = &work_,
                      .streams = &streams_,
                      .events = &events_,
                      .dispatcher = &dispatcher_}};
};

TEST_F(GraphTableTest, NodesFollowTheirDependencies) {
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10), Node(20, {0}), Node(5, {0})}).has_value());

  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());

  EXPECT_EQ(sink_.ops.at(1).start, Us(14));
  EXPECT_EQ(sink_.ops.at(2).start, Us(14));
  EXPECT_EQ(streams_.TailOf(At()).at, Us(34)) << "the later branch";
}

TEST_F(GraphTableTest, NodesFollowEachOtherSoonerThanLaunches) {
  gpus_.at(0).traits.graph_gap = base::Duration::Nanoseconds(50);
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10), Node(20, {0})}).has_value());

  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());
  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());

  EXPECT_EQ(sink_.ops.at(1).start, sink_.ops.at(0).finish + base::Duration::Nanoseconds(50));
  EXPECT_EQ(sink_.ops.at(2).start, sink_.ops.at(1).finish + Span(1)) << "another launch";
}

TEST_F(GraphTableTest, AGemmFollowsAnotherNodeLaterThanAnElementWiseKernel) {
  gpus_.at(0).traits.graph_gap = base::Duration::Nanoseconds(50);
  gpus_.at(0).traits.gemm_graph_gap = base::Duration::Nanoseconds(690);
  GraphNode gemm = Node(6, {0});
  gemm.work.is_gemm = true;
  GraphNode next = Node(6, {1});
  next.work.is_gemm = true;
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10), gemm, next, Node(20, {2})}).has_value());

  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());

  EXPECT_EQ(sink_.ops.at(1).start, sink_.ops.at(0).finish + base::Duration::Nanoseconds(690));
  EXPECT_EQ(sink_.ops.at(2).start, sink_.ops.at(1).finish + base::Duration::Nanoseconds(690));
  EXPECT_EQ(sink_.ops.at(3).start, sink_.ops.at(2).finish + base::Duration::Nanoseconds(50));
}

TEST_F(GraphTableTest, DoesNotOverlapItselfAcrossStreams) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10)}).has_value());

  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());
  ASSERT_TRUE(graphs_.Launch({.stream = 1}, 1, {}).has_value());

  EXPECT_EQ(sink_.ops.at(1).start, Us(14));
}

TEST_F(GraphTableTest, AnOpenLaunchHoldsTheNextOneBack) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  ASSERT_TRUE(graphs_.Define(0, 1, {{.kind = GraphNodeKind::kCollective}}).has_value());
  const std::vector<Collective> first{AllReduce(1)};
  Collective other = AllReduce(2);
  other.communicator = 8;
  const std::vector<Collective> second{other};
  ASSERT_TRUE(graphs_.Launch({}, 1, first).has_value());
  ASSERT_TRUE(graphs_.Launch({.stream = 1}, 1, second).has_value());
  ASSERT_FALSE(sink_.ready.contains(2));

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(sink_.ready.at(2), Us(31));
}

TEST_F(GraphTableTest, RecordsEventsAndWaitsForThem) {
  ASSERT_TRUE(events_.Create(5).has_value());
  ASSERT_TRUE(events_.Create(6).has_value());
  events_.Record(5, {.at = Us(50), .local = Us(50)});
  ASSERT_TRUE(graphs_
                  .Define(0, 1,
                          {{.kind = GraphNodeKind::kEventWait, .event = 5},
                           Node(10, {0}),
                           {.kind = GraphNodeKind::kEventRecord, .event = 6, .dependencies = {1}}})
                  .has_value());

  ASSERT_TRUE(graphs_.Launch({}, 1, {}).has_value());

  EXPECT_EQ(sink_.ops.at(0).start, Us(51));
  EXPECT_EQ(events_.Get(6)->at, Us(61));
}

TEST_F(GraphTableTest, OutlivesTheEventsThatItNames) {
  ASSERT_TRUE(graphs_
                  .Define(0, 1,
                          {{.kind = GraphNodeKind::kEventWait, .event = 5},
                           {.kind = GraphNodeKind::kEventRecord, .event = 5, .dependencies = {0}}})
                  .has_value());

  EXPECT_TRUE(graphs_.Launch({}, 1, {}).has_value());
}

TEST_F(GraphTableTest, NamesWhatIsUnknown) {
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10)}).has_value());

  EXPECT_THAT(graphs_.Define(0, 1, {}).error().message, HasSubstr("graph 1 exists already"));
  EXPECT_THAT(graphs_.Define(2, 2, {}).error().message, HasSubstr("device 2 does not exist"));
  EXPECT_THAT(graphs_.Destroy(7).error().message, HasSubstr("graph 7 does not exist"));
  EXPECT_THAT(graphs_.Launch({}, 7, {}).error().message, HasSubstr("graph 7 does not exist"));
  EXPECT_THAT(graphs_.Launch({.stream = 4}, 1, {}).error().message, HasSubstr("stream 4"));
  EXPECT_THAT(graphs_.Launch({.device = 1}, 1, {}).error().message,
              HasSubstr("graph 1 belongs to device 0, not to 1"));
}

TEST_F(GraphTableTest, ADestroyedGraphMayBeDefinedAgain) {
  ASSERT_TRUE(graphs_.Define(0, 1, {Node(10)}).has_value());
  ASSERT_TRUE(graphs_.Destroy(1).has_value());

  EXPECT_TRUE(graphs_.Define(1, 1, {Node(10)}).has_value());
}

}  // namespace
}  // namespace eidolon::agent::device
