// Shares what tests of REST on Kubernetes need: a server over a cluster in memory, and a user of
// it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "services/controller/kube_host/fake_cluster_test.h"
#include "services/controller/kube_host/kube_api.h"
#include "services/controller/kube_host/kube_authorizer.h"
#include "services/controller/rest/rest_server.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::kube_host {

using nlohmann::json;
using ::testing::HasSubstr;

inline constexpr char kJobs[] = "/api/v1/namespaces/team/simulationjobs";
inline constexpr char kBody[] = R"({"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob",
  "metadata": {"name": "a"}, "spec": {"clusterRef": {"name": "pod"}, "image": "train:1",
  "command": ["true"]}})";

class KubeApiTest : public ::testing::Test {
 protected:
  KubeApiTest()
      : client_({.url = cluster_.url(), .ca_file = {}, .token_file = {}}, clock_),
        reviews_(&client_, clock_),
        metrics_(&registry_),
        peers_(&client_, {"eidolon", "controllers"}),
        api_("", {.clock = clock_,
                  .client = client_,
                  .reviews = reviews_,
                  .metrics = metrics_,
                  .metrics_text = [] { return "# HELP a b\n"; },
                  .outputs = outputs_,
                  .rest_address = "10.0.0.1:8080",
                  .peers = peers_}),
        authorizer_(&reviews_),
        server_(
            std::move(*rest::RestServer::Start({.address = "127.0.0.1:0"}, &api_, &authorizer_))),
        http_("http://" + server_->address()) {
    api_.Start();
    http_.set_read_timeout(20);
    cluster_.AddToken("ann", kRestAudience, "ann");
    for (const char* verb : {"get", "list", "watch", "create", "patch", "delete"}) {
      cluster_.Allow(std::string("ann ") + verb + " simulationjobs team");
      cluster_.Allow(std::string("ann ") + verb + " simulatedclusters team");
    }
    http_.set_bearer_token_auth("ann");
  }
  ~KubeApiTest() override {
    api_.Stop();
    server_->Stop();
  }

  httplib::Result Post(const std::string& body, const httplib::Headers& headers = {}) {
    return http_.Post(kJobs, headers, body, "application/json");
  }

  const base::SystemClock clock_;
  FakeCluster cluster_;
  kube::Client client_;
  kube::Reviews reviews_;
  prometheus::Registry registry_;
  metrics::Metrics metrics_;
  const Peers peers_;
  testing::TemporaryDirectory folder_;
  outputs::OutputStore outputs_{{.folder = folder_.path(), .bytes_max = 40'000}};
  KubeApi api_;
  KubeAuthorizer authorizer_;
  std::unique_ptr<rest::RestServer> server_;
  httplib::Client http_;
};

}  // namespace eidolon::controller::kube_host
