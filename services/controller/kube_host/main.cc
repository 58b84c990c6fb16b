// eidolon-operator: the controller on Kubernetes, as a process of its own.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "services/base/log.h"
#include "services/controller/agents/controller_service.h"
#include "services/controller/job/quantity.h"
#include "services/controller/kube/lease.h"
#include "services/controller/kube_host/kube_api.h"
#include "services/controller/kube_host/kube_authorizer.h"
#include "services/controller/kube_host/kube_controller.h"
#include "services/controller/kube_host/pod_flags.h"
#include "services/controller/kube_host/probe.h"
#include "services/controller/kube_host/token_key.h"
#include "services/controller/kube_host/uninstall.h"
#include "services/controller/outputs/output_store.h"
#include "services/controller/rest/rest_server.h"
#include "services/controller/simulators/simulator_clients.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/runtime/open_files.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/signal_waiter.h"

namespace {

using eidolon::base::Level;
using eidolon::base::Log;
namespace controller = eidolon::controller;
namespace kube = eidolon::controller::kube;

struct Flags {
  std::string agents_listen = "0.0.0.0:7401";
  std::string metrics = "0.0.0.0:9401";
  std::string rest = "0.0.0.0:8080";
  std::string timing;
  std::string pod_name = "eidolon-operator", pod_ip, name_space = "default";
  controller::kube_host::PodFlags pods;
  std::string pass_secret;
  std::string deployment;
  std::string peers;
  std::string outputs_size = "2Gi";
  controller::outputs::OutputStore::Options outputs = {.folder = "/tmp/eidolon-outputs"};
  bool network_policies = false;
  kube::ApiServer server;
  controller::kube_host::KubeControllerOptions options;
};

int Fail(const eidolon::base::Error& error) {
  Log(Level::kError, "operator_failed", {{"reason", error.message}});
  return 1;
}

// The lease goes with the controller's Deployment, so that no uninstall leaves it. Without an owner
// it stays, which harms nobody.
kube::LeaseOptions LeaseOf(const Flags& flags, kube::Client* client) {
  kube::LeaseOptions options = {.key = {flags.name_space, "eidolon-operator"},
                                .identity = flags.pod_name};
  if (flags.deployment.empty()) return options;
  const auto found = client->Get(kube::kDeployments, {flags.name_space, flags.deployment});
  if (found) {
    options.owner = {{"apiVersion", kube::kDeployments.api_version},
                     {"kind", kube::kDeployments.kind},
                     {"name", flags.deployment},
                     {"uid", (*found)["metadata"].value("uid", "")}};
  } else {
    Log(Level::kWarning, "lease_without_owner",
        {{"deployment", flags.deployment}, {"reason", found.error().message}});
  }
  return options;
}

// None: no Secret is named, and services answer everybody.
eidolon::base::Result<std::optional<eidolon::runtime::TokenIssuer>> FindIssuer(
    const Flags& flags, kube::Client* client) {
  if (flags.pass_secret.empty()) return std::nullopt;
  auto found =
      controller::kube_host::FindOrMakeTokenKey(client, {flags.name_space, flags.pass_secret});
  if (!found) return std::unexpected(found.error());
  return std::move(*found);
}

int Serve(Flags flags) {
  eidolon::runtime::SignalWaiter signals;
  eidolon::runtime::RaiseOpenFiles();
  const eidolon::base::SystemClock clock;
  eidolon::runtime::MetricsPage page;
  kube::Client client(flags.server, clock);
  kube::Reviews reviews(&client, clock);
  const auto found = FindIssuer(flags, &client);
  if (!found) return Fail(found.error());
  const std::optional<eidolon::runtime::TokenIssuer>& issuer = *found;
  if (issuer) flags.options.settings.token_key = issuer->public_key();
  controller::metrics::Metrics metrics(&page.registry());
  if (auto port = page.Expose(flags.metrics); !port) return Fail(port.error());
  controller::outputs::OutputStore outputs(flags.outputs);
  controller::kube_host::KubeController kube_controller(
      flags.options, {.clock = clock,
                      .client = client,
                      .reviews = reviews,
                      .metrics = metrics,
                      .find_simulators =
                          [&](const std::string& network) {
                            return std::make_shared<controller::simulators::SimulatorClients>(
                                flags.timing, network, issuer, clock);
                          },
                      .outputs = outputs});
  controller::agents::ControllerService service(&kube_controller.agents());
  auto server = eidolon::runtime::GrpcServer::Start(
      {.address = flags.agents_listen, .registry = &page.registry()}, {&service});
  if (!server) return Fail(server.error());
  std::atomic<bool> lost = false;
  kube::Lease lease(
      LeaseOf(flags, &client), &client, clock,
      [&] {
        Log(Level::kInfo, "leading", {{"identity", flags.pod_name}});
        kube_controller.Start();
      },
      [&] {
        lost = true;
        signals.Stop();
      });
  const controller::kube_host::Peers peers(&client, {flags.name_space, flags.peers});
  controller::kube_host::KubeApi api(flags.options.name_space,
                                     {.clock = clock,
                                      .client = client,
                                      .reviews = reviews,
                                      .metrics = metrics,
                                      .metrics_text = [&page] { return page.Text(); },
                                      .outputs = outputs,
                                      .rest_address = flags.options.rest_address,
                                      .peers = peers});
  controller::kube_host::KubeAuthorizer authorizer(&reviews);
  auto rest = controller::rest::RestServer::Start({.address = flags.rest}, &api, &authorizer);
  if (!rest) return Fail(rest.error());
  api.Start();
  lease.Start();
  Log(Level::kInfo, "operator_started", {{"agents", server->address()}});
  signals.Wait();
  // Another one may lead already: nothing may be written after the lease is lost.
  if (lost) {
    Log(Level::kError, "lease_lost");
    std::_Exit(1);
  }
  api.Stop();
  (*rest)->Stop();
  kube_controller.Stop();
  server->Shutdown(std::chrono::milliseconds(500));
  lease.Stop();
  Log(Level::kInfo, "operator_stopped");
  return 0;
}

void AddOptions(CLI::App* app, Flags* flags) {
  auto& settings = flags->options.settings;
  app->add_option("--agents-listen", flags->agents_listen, "host:port of gRPC, for agents")
      ->capture_default_str();
  app->add_option("--metrics", flags->metrics, "host:port of /metrics")->capture_default_str();
  app->add_option("--rest", flags->rest, "host:port of REST, for users")->capture_default_str();
  app->add_option("--pod-name", flags->pod_name, "identity in the lease")->envname("POD_NAME");
  app->add_option("--pod-ip", flags->pod_ip, "where agents find this controller")
      ->envname("POD_IP")
      ->required();
  app->add_option("--namespace", flags->name_space, "of the lease")->envname("POD_NAMESPACE");
  app->add_option("--watch-namespace", flags->options.name_space, "only this one; empty: all");
  app->add_option("--timing", flags->timing, "host:port of the timing service")->required();
  app->add_option("--services-image", settings.services_image, "holds eidolon-network")->required();
  app->add_option("--injection-image", settings.injection_image, "holds shim and agent")
      ->required();
  app->add_option("--image-pull-policy", settings.pull_policy)->capture_default_str();
  app->add_option("--image-pull-secret", settings.pull_secrets);
  app->add_option("--cpu-millis-per-rank", settings.cpu_millis_per_rank, "requested by pods")
      ->capture_default_str();
  app->add_option("--memory-per-rank", flags->pods.memory_per_rank, "requested by pods")
      ->capture_default_str();
  app->add_option("--cpu-limit-millis-per-rank", settings.cpu_limit_millis_per_rank,
                  "limit of pods; 0: none")
      ->capture_default_str();
  app->add_option("--memory-limit-per-rank", flags->pods.memory_limit_per_rank,
                  "limit of pods whose jobs name none; 0: none")
      ->capture_default_str();
  app->add_option("--network-pod", flags->pods.network_pod,
                  "JSON: resources, nodeSelector, tolerations, affinity and priorityClassName of "
                  "network services");
  app->add_option("--injection-resources", flags->pods.injection_resources,
                  "JSON: resources of the init container that copies shim and agent");
  app->add_flag("--forbid-pod-templates{false}", settings.pod_templates_allowed,
                "ignore spec.podTemplate of jobs");
  app->add_option(
      "--pass-secret", flags->pass_secret,
      "Secret of this namespace with the key that signs tokens, made where it is empty; none: "
      "timing and network services answer everybody");
  app->add_option("--deployment", flags->deployment,
                  "Deployment of this namespace that runs the controller: the lease goes with it");
  app->add_option("--outputs-folder", flags->outputs.folder,
                  "where timelines and recordings of jobs that are over are kept")
      ->capture_default_str();
  app->add_option("--outputs-size", flags->outputs_size,
                  "at most; the oldest ones go first, and a job may leave a quarter")
      ->capture_default_str();
  app->add_option("--peers", flags->peers,
                  "Service of this namespace that leads to all controllers: what another one of "
                  "them keeps of a job is fetched from there; none: from nowhere");
  app->add_flag("--network-policies", flags->network_policies,
                "let agents and this controller alone reach network services");
  app->add_option("--jobs", flags->options.jobs_max, "jobs that may have agents at a time")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option("--api-server", flags->server.url, "URL; default: that of the pod's cluster");
  app->add_option("--api-ca", flags->server.ca_file);
  app->add_option("--api-token", flags->server.token_file, "file with a token");
}

// "eidolon-operator probe": what `helm test` runs.
int RunProbe(int argc, char** argv) {
  CLI::App app("Asks a running controller whether it is ready and answers over REST");
  controller::kube_host::ProbeOptions options;
  app.add_option("--url", options.url, "of REST")->required();
  app.add_option("--token-file", options.token_file, "for audience rest.eidolon.dev")->required();
  app.add_option("--namespace", options.name_space, "whose jobs are listed")->required();
  CLI11_PARSE(app, argc, argv);
  const auto done = controller::kube_host::Probe(options);
  if (!done) return Fail(done.error());
  Log(Level::kInfo, "rest_answers", {{"url", options.url}});
  return 0;
}

// "eidolon-operator uninstall": what the chart's pre-delete hook runs.
int RunUninstall(int argc, char** argv) {
  CLI::App app("Stops the controllers of a release, and removes what they have at work");
  controller::kube_host::UninstallOptions options;
  app.add_option("--namespace", options.release_namespace, "of the release")->required();
  app.add_option("--deployment", options.deployment, "of the controllers")->required();
  app.add_option("--controllers", options.controller_pods, "label selector of their pods")
      ->required();
  app.add_option("--watch-namespace", options.name_space, "only this one; empty: all");
  CLI11_PARSE(app, argc, argv);
  auto server = kube::ApiServer::InCluster();
  if (!server) return Fail(server.error());
  const eidolon::base::SystemClock clock;
  kube::Client client(std::move(*server), clock);
  const auto done = controller::kube_host::Uninstall(options, &client, clock);
  if (!done) return Fail(done.error());
  Log(Level::kInfo, "uninstalled",
      {{"jobs_that_wait", std::to_string(done->jobs)},
       {"objects_removed", std::to_string(done->objects)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "probe") return RunProbe(argc - 1, argv + 1);
  if (verb == "uninstall") return RunUninstall(argc - 1, argv + 1);
  CLI::App app("Eidolon's controller on Kubernetes");
  Flags flags;
  AddOptions(&app, &flags);
  CLI11_PARSE(app, argc, argv);
  eidolon::process::RenounceNewPrivileges();
  auto& settings = flags.options.settings;
  if (const auto read = controller::kube_host::ReadPodFlags(flags.pods, &settings); !read) {
    return Fail(read.error());
  }
  const auto outputs_bytes = eidolon::controller::job::ParseBytes(flags.outputs_size);
  if (!outputs_bytes) {
    return Fail({eidolon::base::ErrorCode::kInvalidArgument,
                 "--outputs-size is not an amount of bytes such as 2Gi"});
  }
  flags.outputs.bytes_max = *outputs_bytes;
  if (flags.pod_ip.find(':') != std::string::npos) flags.pod_ip = "[" + flags.pod_ip + "]";
  settings.agents_address =
      flags.pod_ip + flags.agents_listen.substr(flags.agents_listen.rfind(':'));
  if (flags.network_policies) settings.policy_namespace = flags.name_space;
  flags.options.rest_address = flags.pod_ip + flags.rest.substr(flags.rest.rfind(':'));
  if (flags.server.url.empty()) {
    auto found = kube::ApiServer::InCluster();
    if (!found) return Fail(found.error());
    flags.server = std::move(*found);
  }
  return Serve(std::move(flags));
}
