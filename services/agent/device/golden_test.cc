// Timed golden logs: golden/<name>.scenario is a small program, golden/<name>.log what the engine
// made of it. EIDOLON_UPDATE_GOLDEN=1 rewrites the logs.
//
//   gpu <latency us> <gap us> <multiprocessors>
//   stream <id> [blocking]            event <id>
//   <host us> launch <stream> <us> [share 1/1024] [in|out|peer]
//   <host us> record|wait <stream> <event>
//   <host us> callback <stream>
//   <host us> collective <stream> <communicator> <token> <estimate us> <channels>
//   <host us> sync <stream>
//   answer <token> <start us> <finish us>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "services/agent/device/engine.h"
#include "source_tree.h"

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

class Player : public Sink {
 public:
  std::string Play(std::istream& scenario) {
    std::string line;
    while (std::getline(scenario, line)) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string first;
      words >> first;
      Obey(first, words);
    }
    return log_.str();
  }

  void OpResolved(const ResolvedOp& op) override {
    static const char* const kKinds[] = {"work", "collective", "callback"};
    log_ << "op " << op.sequence << " stream " << op.stream << " "
         << kKinds[static_cast<int>(op.kind)] << " " << Print(op.start) << " to "
         << Print(op.finish) << (op.host_bound ? " host-bound" : "") << "\n";
  }
  void CollectiveReady(std::uint64_t token, SimTime ready) override {
    log_ << "ready " << token << " at " << Print(ready) << "\n";
  }
  void WaitEnded(std::uint64_t ticket, SimTime time) override {
    log_ << "sync " << ticket << " ends " << Print(time) << "\n";
  }

 private:
  static std::string Print(SimTime time) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(3) << static_cast<double>(time.ps) * 1e-6;
    return out.str();
  }
  static SimTime Us(double us) { return {static_cast<std::int64_t>(us * 1e6)}; }

  void Obey(const std::string& first, std::istringstream& words) {
    if (first == "gpu") {
      double latency = 0, gap = 0;
      std::uint32_t multiprocessors = 0;
      words >> latency >> gap >> multiprocessors;
      engine_ =
          std::make_unique<Engine>(std::vector<Traits>{{.launch_latency = Us(latency) - SimTime{},
                                                        .launch_gap = Us(gap) - SimTime{},
                                                        .graph_gap = Us(gap) - SimTime{},
                                                        .callback_cost = Duration::Microseconds(10),
                                                        .multiprocessors = multiprocessors}},
                                   this);
    } else if (first == "stream") {
      std::uint32_t id = 0;
      std::string blocking;
      words >> id >> blocking;
      Check(engine_->CreateStream(0, id, blocking.empty()));
    } else if (first == "event") {
      std::uint32_t id = 0;
      words >> id;
      Check(engine_->CreateEvent(id));
    } else if (first == "answer") {
      std::uint64_t token = 0;
      double start = 0, finish = 0;
      words >> token >> start >> finish;
      ASSERT_TRUE(engine_->ResolveCollective(token, Us(start), Us(finish)));
    } else {
      std::string verb;
      std::uint32_t stream = 0;
      words >> verb >> stream;
      Act(verb, {.stream = stream, .host_clock = Us(std::stod(first))}, words);
    }
  }

  void Act(const std::string& verb, const Engine::Call& call, std::istringstream& words) {
    if (verb == "launch") {
      double us = 0;
      Work work;
      std::string resource;
      words >> us;
      if (!(words >> work.share)) work.share = kWholeShare;
      words >> resource;
      work.duration = Us(us) - SimTime{};
      static const std::map<std::string, Resource> kResources{{"", Resource::kMultiprocessors},
                                                              {"in", Resource::kCopyIn},
                                                              {"out", Resource::kCopyOut},
                                                              {"peer", Resource::kCopyPeer}};
      work.resource = kResources.at(resource);
      Check(engine_->Launch(call, work));
    } else if (verb == "record" || verb == "wait") {
      std::uint32_t event = 0;
      words >> event;
      Check(verb == "wait" ? engine_->WaitEvent(call, event) : engine_->RecordEvent(call, event));
    } else if (verb == "callback") {
      Check(engine_->Callback(call));
    } else if (verb == "collective") {
      Collective collective;
      double estimate = 0;
      words >> collective.communicator >> collective.token >> estimate >> collective.channels;
      collective.estimate = Us(estimate) - SimTime{};
      Check(engine_->Issue(call, collective));
    } else if (verb == "sync") {
      const auto end = engine_->StreamEnd(0, call.stream, ++ticket_);
      if (end->time.has_value()) WaitEnded(ticket_, *end->time);
    } else {
      FAIL() << "unknown verb " << verb;
    }
  }
  static void Check(const base::Result<void>& result) {
    ASSERT_TRUE(result.has_value()) << result.error().message;
  }

  std::unique_ptr<Engine> engine_;
  std::ostringstream log_;
  std::uint64_t ticket_ = 0;
};

class GoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, GivesItsLog) {
  const std::string stem =
      std::string(EIDOLON_SOURCE_DIR "/services/agent/device/golden/") + GetParam();
  std::ifstream scenario(stem + ".scenario");
  ASSERT_TRUE(scenario.is_open()) << stem;

  const std::string log = Player().Play(scenario);

  if (std::getenv("EIDOLON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(stem + ".log") << log;
    return;
  }
  std::ifstream golden(stem + ".log");
  std::stringstream expected;
  expected << golden.rdbuf();
  EXPECT_EQ(log, expected.str());
}

INSTANTIATE_TEST_SUITE_P(, GoldenTest, ::testing::Values("ddp_backward", "fsdp_prefetch", "copies"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace eidolon::agent::device
