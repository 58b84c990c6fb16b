// Timelines and recordings on Kubernetes, from the agents that send them to who asks for them by
// REST.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "services/contract/critical_path/trace_file.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/ring/server_page.h"
#include "services/controller/kube_host/controller_fixture_test.h"
#include "services/controller/kube_host/kube_api.h"
#include "services/controller/kube_host/kube_authorizer.h"
#include "services/controller/kube_host/peers.h"
#include "services/controller/rest/rest_server.h"

namespace eidolon::controller::kube_host {
namespace {

constexpr char kFiles[] = "/api/v1/namespaces/team/simulationjobs/train/";

// A controller of the installation that has its REST on this port of 127.0.0.1.
void AddPeer(FakeCluster* cluster, int port) {
  cluster->Put(kube::kEndpointSlices, {"eidolon", StrCat("peer-", port)},
               {{"metadata", {{"labels", {{"kubernetes.io/service-name", "controllers"}}}}},
                {"ports", {{{"name", "http"}, {"port", port}}}},
                {"endpoints", {{{"addresses", {"127.0.0.1"}}}}}});
}

std::string Trace(std::int32_t rank) {
  critical_path::RankTrace trace;
  trace.rank = rank;
  trace.finish = {1000};
  trace.launch_gaps = {{1}};
  trace.names = {"kernel"};
  trace.operations = {{.ready = {10}, .start = {10}, .finish = {1000}}};
  std::ostringstream out;
  critical_path::Write(trace, &out);
  return out.str();
}

// The REST side of a controller's process.
class Face {
 public:
  Face(FakeCluster* cluster, outputs::OutputStore* outputs, const std::string& address)
      : client_({.url = cluster->url(), .ca_file = {}, .token_file = {}}, clock_),
        reviews_(&client_, clock_),
        metrics_(&registry_),
        peers_(&client_, {"eidolon", "controllers"}),
        api_("", {.clock = clock_,
                  .client = client_,
                  .reviews = reviews_,
                  .metrics = metrics_,
                  .metrics_text = [] { return ""; },
                  .outputs = *outputs,
                  .rest_address = address,
                  .peers = peers_}),
        authorizer_(&reviews_),
        server_(
            std::move(*rest::RestServer::Start({.address = "127.0.0.1:0"}, &api_, &authorizer_))) {
    cluster->AddToken("ann", kRestAudience, "ann");
    cluster->Allow("ann get simulationjobs team");
    api_.Start();
  }
  ~Face() {
    api_.Stop();
    server_->Stop();
  }

  std::string address() const { return server_->address(); }
  int port() const { return std::stoi(address().substr(address().rfind(':') + 1)); }
  httplib::Result Get(const std::string& token = "ann", const std::string& what = "timeline") {
    httplib::Client http("http://" + address());
    http.set_read_timeout(20);
    http.set_bearer_token_auth(token.c_str());
    return http.Get((kFiles + what).c_str());
  }

 private:
  const base::SystemClock clock_;
  kube::Client client_;
  kube::Reviews reviews_;
  prometheus::Registry registry_;
  metrics::Metrics metrics_;
  const Peers peers_;
  KubeApi api_;
  KubeAuthorizer authorizer_;
  std::unique_ptr<rest::RestServer> server_;
};

class TimelineTest : public KubeControllerTest {
 protected:
  TimelineTest() {
    PutCluster();
    PutJob();
    cluster_.Put(kube::kSimulationJobs, kJob,
                 {{"spec", {{"outputs", {{"timeline", {{"iterations", 1}}}}}}}});
  }

  std::vector<Result<agents::Assignment>> Begin(Process* process) {
    EXPECT_TRUE(StartNetwork());
    EXPECT_TRUE(StartPods());
    auto assignments = Attach(process);
    for (const auto& assignment : assignments) EXPECT_TRUE(assignment);
    return assignments;
  }

  static void Send(Process* process, const agents::Assignment& assignment) {
    const std::string name = StrCat("server ", assignment.agent.server, "\n");
    process->controller.agents().OnOutput(
        assignment.agent,
        {.kind = outputs::Kind::kTimeline, .data = name, .is_last = true, .error = {}});
    process->controller.agents().OnOutput(
        assignment.agent, {.kind = outputs::Kind::kTraces,
                           .data = Trace(static_cast<std::int32_t>(assignment.agent.server)),
                           .is_last = true,
                           .error = {}});
  }
};

TEST_F(TimelineTest, IsThatOfAllServersAndAnyControllerGivesIt) {
  Process process(cluster_);
  Face leader(&cluster_, &process.outputs, "10.0.0.1:8080");
  const auto assignments = Begin(&process);
  EXPECT_EQ(leader.Get()->status, 409);
  for (const auto& assignment : assignments) {
    EXPECT_EQ(assignment->sent_output_bytes_max, 10'000u);
    Send(&process, *assignment);
  }

  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);

  const json status = Status();
  EXPECT_EQ(status["timeline"], json({{"bytes", 18}, {"controller", "10.0.0.1:8080"}}));
  EXPECT_EQ(status["prediction"]["criticalPath"]["ranksShown"], 2);
  EXPECT_FALSE(status.contains("warnings")) << status["warnings"];
  const auto given = leader.Get();
  ASSERT_EQ(given->status, 200) << given->body;
  EXPECT_EQ(given->body, "server 0\nserver 1\n");
  // Another controller fetches it, as who asked, where the status says.
  cluster_.Put(kube::kSimulationJobs, kJob,
               {{"status", {{"timeline", {{"controller", leader.address()}}}}}});
  AddPeer(&cluster_, leader.port());
  const testing::TemporaryDirectory folder;
  outputs::OutputStore none({.folder = folder.path(), .bytes_max = 40'000});
  Face other(&cluster_, &none, "10.0.0.2:8080");
  const auto fetched = other.Get();
  ASSERT_EQ(fetched->status, 200) << fetched->body;
  EXPECT_EQ(fetched->body, given->body);
  EXPECT_EQ(other.Get("unknown")->status, 401);
}

TEST_F(TimelineTest, WhatIsMissingIsAWarningAndAnAnswer) {
  Process process(cluster_);
  Face face(&cluster_, &process.outputs, "10.0.0.1:8080");
  const auto assignments = Begin(&process);
  Send(&process, *assignments[0]);

  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);

  EXPECT_THAT(Status()["warnings"].dump(), HasSubstr("server 1: it sent none"));
  EXPECT_FALSE(Status()["prediction"].contains("criticalPath"));
  const auto refused = face.Get();
  EXPECT_EQ(refused->status, 404);
  EXPECT_THAT(refused->body, HasSubstr("server 1: it sent none"));
}

TEST_F(TimelineTest, GoesWithItsJobAndWithItsController) {
  Process process(cluster_);
  Face face(&cluster_, &process.outputs, "10.0.0.1:8080");
  const auto assignments = Begin(&process);
  for (const auto& assignment : assignments) Send(&process, *assignment);
  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  const outputs::JobId id = {"team", "train", UidOf(*cluster_.Find(kube::kSimulationJobs, kJob))};
  const testing::TemporaryDirectory folder;
  outputs::OutputStore none({.folder = folder.path(), .bytes_max = 40'000});

  const auto forgotten = Face(&cluster_, &none, "10.0.0.1:8080").Get();
  // Nobody listens there.
  AddPeer(&cluster_, 9);
  cluster_.Put(kube::kSimulationJobs, kJob,
               {{"status", {{"timeline", {{"controller", "127.0.0.1:9"}}}}}});
  const auto gone = Face(&cluster_, &none, "10.0.0.2:8080").Get();
  ASSERT_TRUE(process.outputs.Find(id, outputs::Kind::kTimeline));
  cluster_.Remove(kube::kSimulationJobs, kJob);

  EXPECT_EQ(forgotten->status, 404);
  EXPECT_THAT(forgotten->body, HasSubstr("as long as its pod lives"));
  EXPECT_EQ(gone->status, 503);
  EXPECT_THAT(gone->body, HasSubstr("which does not answer"));
  EXPECT_TRUE(Eventually([&] { return !process.outputs.Find(id, outputs::Kind::kTimeline); }));
}

// Who may write a status may name any address there.
TEST_F(TimelineTest, NobodyButAControllerOfTheInstallationIsSentAToken) {
  Process process(cluster_);
  const auto assignments = Begin(&process);
  for (const auto& assignment : assignments) Send(&process, *assignment);
  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  httplib::Server foreign;
  std::string seen = "nothing";
  foreign.Get(".*", [&](const httplib::Request& request, httplib::Response&) {
    seen = request.get_header_value("Authorization");
  });
  const int port = foreign.bind_to_any_port("127.0.0.1");
  std::thread serving([&] { foreign.listen_after_bind(); });
  cluster_.Put(kube::kSimulationJobs, kJob,
               {{"status", {{"timeline", {{"controller", StrCat("127.0.0.1:", port)}}}}}});
  const testing::TemporaryDirectory folder;
  outputs::OutputStore none({.folder = folder.path(), .bytes_max = 40'000});
  Face face(&cluster_, &none, "10.0.0.2:8080");
  AddPeer(&cluster_, face.port());

  const auto refused = face.Get();

  foreign.stop();
  serving.join();
  EXPECT_EQ(refused->status, 404);
  EXPECT_THAT(refused->body, HasSubstr("is not there any more"));
  EXPECT_EQ(seen, "nothing");
}

TEST(FetchOutputTest, CopiesOfAllAnswersStayWithinTheirShareOfTheFolder) {
  httplib::Server peer;
  peer.Get(".*", [](const httplib::Request& request, httplib::Response& response) {
    const std::size_t bytes = request.path.ends_with("/recording") ? 10'001 : 6'000;
    response.set_content(std::string(bytes, 'x'), "application/octet-stream");
  });
  const int port = peer.bind_to_any_port("127.0.0.1");
  std::thread serving([&] { peer.listen_after_bind(); });
  const testing::TemporaryDirectory folder;
  outputs::OutputStore store({.folder = folder.path(), .bytes_max = 40'000});
  const auto fetch = [&](const std::string& what) {
    return FetchOutput({.controller = StrCat("127.0.0.1:", port), .what = what, .token = "ann"},
                       {"team", "train"}, &store);
  };
  const auto copies = [&] {
    return std::ranges::distance(std::filesystem::directory_iterator(folder / "copies"));
  };

  auto first = fetch("timeline");
  const auto second = fetch("timeline");
  const auto at_once = copies();
  if (first) first->copy = nullptr;
  auto third = fetch("timeline");
  const auto third_bytes = third ? std::filesystem::file_size(third->path) : 0;
  if (third) third->copy = nullptr;
  const auto large = fetch("recording");

  peer.stop();
  serving.join();
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("ask again"));
  EXPECT_EQ(at_once, 1);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third_bytes, 6'000u);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, base::ErrorCode::kInternal);
  EXPECT_THAT(large.error().message, HasSubstr("more than the 10000 bytes"));
  EXPECT_EQ(copies(), 0);
}

class RecordingTest : public TimelineTest {
 protected:
  RecordingTest() {
    cluster_.Put(kube::kSimulationJobs, kJob,
                 {{"spec",
                   {{"outputs", {{"timeline", nullptr}, {"recording", true}}},
                    {"env",
                     {{{"name", "TOKEN"}, {"value", "secret"}},
                      {{"name", "NCCL_ALGO"}, {"value", "Ring"}}}}}}});
  }

  // Returns a block as an agent writes it.
  std::string RankBlock(std::int32_t rank) const {
    const std::string part = folder_ / "part", file = folder_ / "rank";
    std::ofstream(part) << "entries";
    recording::RankPart made{.header = {}, .path = part};
    made.header.ring_version = ring::kVersion;
    made.header.rank = rank;
    EXPECT_TRUE(recording::WriteRanks({made}, file));
    std::ifstream in(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }

  testing::TemporaryDirectory folder_;
};

TEST_F(RecordingTest, SaysWhatWasRunAndPredictedAndHasTheRanksOfAllServers) {
  Process process(cluster_);
  Face face(&cluster_, &process.outputs, "10.0.0.1:8080");
  const auto assignments = Begin(&process);
  EXPECT_EQ(face.Get("ann", "recording")->status, 409);
  EXPECT_EQ(face.Get("ann", "timeline")->status, 404);
  for (const auto& assignment : assignments) {
    const auto rank = static_cast<std::int32_t>(assignment->agent.server);
    process.controller.agents().OnOutput(
        assignment->agent,
        {.kind = outputs::Kind::kRecording, .data = RankBlock(rank), .is_last = true, .error = {}});
  }

  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);

  const json status = Status();
  EXPECT_FALSE(status.contains("warnings")) << status["warnings"];
  const auto given = face.Get("ann", "recording");
  ASSERT_EQ(given->status, 200) << given->body;
  EXPECT_EQ(status["recording"],
            json({{"bytes", given->body.size()}, {"controller", "10.0.0.1:8080"}}));
  const auto recording = recording::RecordingFile::Read(std::as_bytes(std::span(given->body)));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->ranks().size(), 2u);
  const json head = json::parse(recording->job());
  EXPECT_EQ(head["job"]["spec"]["env"], json::array({{{"name", "NCCL_ALGO"}, {"value", "Ring"}}}));
  EXPECT_EQ(head["job"]["spec"]["cluster"], status["cluster"]);
  EXPECT_EQ(head["status"]["prediction"]["iterationPicoseconds"],
            status["prediction"]["iterationPicoseconds"]);
}

TEST_F(RecordingTest, WhatAnAgentCouldNotKeepIsAWarningAndAnAnswer) {
  Process process(cluster_);
  Face face(&cluster_, &process.outputs, "10.0.0.1:8080");
  const auto assignments = Begin(&process);
  for (const auto& assignment : assignments) {
    process.controller.agents().OnOutput(assignment->agent, {.kind = outputs::Kind::kRecording,
                                                             .data = {},
                                                             .is_last = true,
                                                             .error = "it does not fit"});
  }

  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);

  const auto refused = face.Get("ann", "recording");
  EXPECT_EQ(refused->status, 404);
  EXPECT_THAT(refused->body, HasSubstr("server 0: it does not fit"));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
