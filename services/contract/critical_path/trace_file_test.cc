#include "services/contract/critical_path/trace_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>

#include "services/contract/critical_path/builder_test.h"

namespace eidolon::critical_path {
namespace {

RankTrace Example() {
  RankBuilder rank(3, {10, 100});
  rank.Call({0, 4});
  rank.Kernel({12, 20}, kEarlier);
  rank.Collective({22, {60, 80}}, 5, 1);
  rank.Links({{.time = {20}, .tier = LinkTier::kNic}});
  rank.Wait({5, 80});
  rank.Group({85, {85, 100}}, {{.peer = 1, .is_send = true}});
  rank.trace().left_out = 7;
  return rank.trace();
}

std::string Written(const RankTrace& trace) {
  std::ostringstream out;
  Write(trace, &out);
  return out.str();
}

base::Result<std::vector<RankTrace>> Read(const std::string& bytes) {
  return Parse(std::as_bytes(std::span(bytes)));
}

TEST(TraceFileTest, TracesOfSeveralFilesAreReadAsTheyWereWritten) {
  RankTrace program = Example();
  program.iteration.reset();
  program.rank = 4;

  const auto traces = Read(Written(Example()) + Written(program));

  ASSERT_TRUE(traces.has_value()) << traces.error().message;
  ASSERT_EQ(traces->size(), 2u);
  const RankTrace& first = traces->front();
  EXPECT_EQ(first.rank, 3);
  EXPECT_EQ(first.iteration, 2u);
  EXPECT_EQ(first.start, base::SimTime{10});
  EXPECT_EQ(first.left_out, 7u);
  EXPECT_EQ(first.names, Example().names);
  ASSERT_EQ(first.operations.size(), 3u);
  EXPECT_EQ(first.operations[0].released_by, kEarlier);
  EXPECT_EQ(first.operations[1].ready, base::SimTime{22});
  EXPECT_EQ(first.communication[1].transfers, 1u);
  EXPECT_EQ(first.transfers[0].is_send, 1u);
  ASSERT_EQ(first.communication[0].links, 1u);
  EXPECT_EQ(first.links[0].tier, LinkTier::kNic);
  EXPECT_EQ(first.host_events[1].kind, HostEventKind::kWait);
  EXPECT_EQ((*traces)[1].iteration, std::nullopt);
  EXPECT_EQ(Written(first), Written(Example()));
}

TEST(TraceFileTest, RefusesAFileThatEndsEarly) {
  const std::string whole = Written(Example());

  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(Read(whole.substr(0, bytes)).has_value()) << bytes;
  }
}

TEST(TraceFileTest, RefusesWhatContradictsItself) {
  const struct {
    const char* name;
    std::function<void(RankTrace*)> change;
  } kCases[] = {
      {"an iteration that ends before it begins", [](auto* t) { t->finish = {9}; }},
      {"a negative launch gap", [](auto* t) { t->launch_gaps[0] = {-1}; }},
      {"an end before the start", [](auto* t) { t->operations[0].finish = {11}; }},
      {"a start before it was ready", [](auto* t) { t->operations[1].ready = {61}; }},
      {"a name that is not there", [](auto* t) { t->operations[0].name = 99; }},
      {"released by itself", [](auto* t) { t->operations[1].released_by = 2; }},
      {"a call that is not there", [](auto* t) { t->operations[0].call = 3; }},
      {"a GPU that is not there", [](auto* t) { t->operations[0].device = 1; }},
      {"a kind that is not there", [](auto* t) { t->operations[0].kind = OperationKind{9}; }},
      {"a wait that ends before it begins", [](auto* t) { t->host_events[1].end = {4}; }},
      {"communication of a kernel", [](auto* t) { t->communication[0].operation = 0; }},
      {"communication twice", [](auto* t) { t->communication[1].operation = 1; }},
      {"links that are not there", [](auto* t) { t->communication[0].links = 2; }},
      {"links of a tier that is not there", [](auto* t) { t->links[0].tier = LinkTier{99}; }},
      {"a negative time on a link", [](auto* t) { t->links[0].time = {-1}; }},
      {"transfers that are not there", [](auto* t) { t->communication[1].transfers = 2; }},
  };
  for (const auto& one : kCases) {
    RankTrace trace = Example();
    one.change(&trace);

    const auto traces = Read(Written(trace));

    ASSERT_FALSE(traces.has_value()) << one.name;
    EXPECT_EQ(traces.error().code, base::ErrorCode::kCorrupt) << one.name;
  }
}

}  // namespace
}  // namespace eidolon::critical_path
