// The functions are pure, and equal inputs give equal objects, so applying them again changes
// nothing. The user's image may lack a C library that suits us, so an init container copies agent,
// shim, loader and libraries into an emptyDir, and the loader starts the agent by its path.
// Containers meet the "restricted" level of Pod Security unless a job asks for less. A user's
// podTemplate may change placement and security settings, but labels of ours win. backoffLimit is
// 0: when one pod fails all ranks have to begin again, which is the controller's decision. The
// Service is headless and publishes pods that are not ready, for names of servers from the first
// moment.
#include "services/controller/reconcile/objects.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/controller/job/metadata.h"
#include "services/controller/reconcile/resources.h"

namespace eidolon::controller::reconcile {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr int kNobody = 65532;
constexpr int kNetworkMetricsPort = 9403;
constexpr int kAgentMetricsPort = 9464;
constexpr char kInjectionFolder[] = "/eidolon/injection";

json OwnerReferences(const json& owner) {
  return json::array({{{"apiVersion", owner["apiVersion"]},
                       {"kind", owner["kind"]},
                       {"name", owner["metadata"]["name"]},
                       {"uid", owner["metadata"]["uid"]},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

json Labels(const std::string& component, const char* owner_label, const json& owner) {
  return {{"app.kubernetes.io/name", "eidolon"},
          {"app.kubernetes.io/component", component},
          {"app.kubernetes.io/managed-by", "eidolon-controller"},
          {owner_label, owner["metadata"]["name"]}};
}

json Metadata(const std::string& name, const json& owner, const json& labels) {
  return {{"name", name},
          {"namespace", owner["metadata"]["namespace"]},
          {"labels", labels},
          {"ownerReferences", OwnerReferences(owner)}};
}

// Returns what the restricted Pod Security level asks of a container.
json Restricted() {
  return {{"allowPrivilegeEscalation", false},
          {"capabilities", {{"drop", {"ALL"}}}},
          {"runAsNonRoot", true},
          {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

json RestrictedNobody() {
  json context = Restricted();
  context["readOnlyRootFilesystem"] = true;
  context["runAsUser"] = kNobody;
  context["runAsGroup"] = kNobody;
  return context;
}

json PullSecrets(const Settings& settings, const json& pods) {
  json secrets = json::array();
  for (const std::string& name : settings.pull_secrets) secrets.push_back({{"name", name}});
  for (const json& secret : pods.value("imagePullSecrets", json::array())) {
    secrets.push_back(secret);
  }
  return secrets;
}

json MemoryVolume(const char* name, std::uint64_t bytes) {
  json volume = {{"name", name}, {"emptyDir", {{"medium", "Memory"}}}};
  if (bytes != 0) volume["emptyDir"]["sizeLimit"] = StrCat(bytes);
  return volume;
}

json Mount(const char* name, const std::string& path, bool read_only) {
  json mount = {{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

json Volumes(const job::JobSpec& spec, const json& pods, std::uint64_t tmpfs_bytes) {
  json volumes = json::array(
      {{{"name", "eidolon-injection"}, {"emptyDir", {{"sizeLimit", "512Mi"}}}},
       {{"name", "eidolon-token"},
        {"projected",
         {{"sources",
           {{{"serviceAccountToken",
              {{"audience", kTokenAudience}, {"expirationSeconds", 3600}, {"path", "token"}}}}}}}}},
       MemoryVolume("eidolon-run", tmpfs_bytes),
       MemoryVolume("eidolon-shm", tmpfs_bytes)});
  if (!spec.code_config_map.empty()) {
    volumes.push_back({{"name", "eidolon-code"}, {"configMap", {{"name", spec.code_config_map}}}});
  } else if (!spec.code_claim.empty()) {
    volumes.push_back(
        {{"name", "eidolon-code"},
         {"persistentVolumeClaim", {{"claimName", spec.code_claim}, {"readOnly", true}}}});
  }
  for (const json& volume : pods.value("volumes", json::array())) volumes.push_back(volume);
  return volumes;
}

json Mounts(const job::JobSpec& spec, const json& pods) {
  json mounts = json::array({Mount("eidolon-injection", kInjectionFolder, true),
                             Mount("eidolon-token", "/eidolon/token", true),
                             Mount("eidolon-run", kRunFolder, false),
                             Mount("eidolon-shm", "/dev/shm", false)});
  if (!spec.code_config_map.empty() || !spec.code_claim.empty()) {
    mounts.push_back(Mount("eidolon-code", kCodeFolder, true));
  }
  for (const json& mount : pods.value("volumeMounts", json::array())) mounts.push_back(mount);
  return mounts;
}

// The agent with its own loader and libraries: the user's image need not have any of them.
json AgentCommand() {
  const std::string folder = StrCat(kInjectionFolder, "/agent");
  return {folder + "/lib/ld-linux-x86-64.so.2",
          "--library-path",
          folder + "/lib",
          folder + "/eidolon-agent",
          "--libraries",
          StrCat(kInjectionFolder, "/lib"),
          "--metrics",
          StrCat("0.0.0.0:", kAgentMetricsPort),
          "--print-lines"};
}

json InjectionContainer(const Settings& settings) {
  const std::string folder = "/eidolon/agent";
  return {{"name", "eidolon-injection"},
          {"image", settings.injection_image},
          {"imagePullPolicy", settings.pull_policy},
          {"terminationMessagePolicy", "FallbackToLogsOnError"},
          {"command",
           {folder + "/lib/ld-linux-x86-64.so.2", "--library-path", folder + "/lib",
            folder + "/eidolon-agent", "--install", "/target"}},
          {"volumeMounts", {Mount("eidolon-injection", "/target", false)}},
          {"resources", settings.injection_resources},
          {"securityContext", RestrictedNobody()}};
}

// Returns what the agent needs, and what the kubelet fills in for the command.
json Environment(const json& job_spec, const Settings& settings) {
  json list =
      json::array({{{"name", "EIDOLON_CONTROLLER_ADDRESS"}, {"value", settings.agents_address}},
                   {{"name", "EIDOLON_AGENT_TOKEN_FILE"}, {"value", "/eidolon/token/token"}}});
  for (const json& entry : job_spec.value("env", json::array())) {
    if (entry.contains("valueFrom")) list.push_back(entry);
  }
  return list;
}

json ServerContainer(const job::ResolvedJob& resolved, const json& job_spec, const json& pods,
                     const Settings& settings) {
  json security = Restricted();
  security.update(pods.value("securityContext", json::object()));
  json container = {{"name", "server"},
                    {"image", resolved.spec.image},
                    {"imagePullPolicy", pods.value("imagePullPolicy", settings.pull_policy)},
                    {"terminationMessagePolicy", "FallbackToLogsOnError"},
                    {"command", AgentCommand()},
                    {"args", json::array()},
                    {"env", Environment(job_spec, settings)},
                    {"ports", {{{"name", "metrics"}, {"containerPort", kAgentMetricsPort}}}},
                    {"volumeMounts", Mounts(resolved.spec, pods)},
                    {"resources", ServerResources(resolved, pods, settings)},
                    {"securityContext", security}};
  if (job_spec.contains("envFrom")) container["envFrom"] = job_spec["envFrom"];
  return container;
}

json PodSpec(const std::string& name, const job::ResolvedJob& resolved, const json& job_spec,
             const json& pods, const Settings& settings) {
  json security = {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  security.update(pods.value("podSecurityContext", json::object()));
  json spec = {{"restartPolicy", "Never"},
               {"subdomain", name},
               {"automountServiceAccountToken", false},
               {"enableServiceLinks", false},
               // The kubelet's SIGKILL is the last of the orders.
               {"terminationGracePeriodSeconds", job::kTerminateGraceSeconds},
               {"securityContext", security},
               {"volumes", Volumes(resolved.spec, pods, TmpfsBytes(resolved, pods, settings))},
               {"initContainers", {InjectionContainer(settings)}},
               {"containers", {ServerContainer(resolved, job_spec, pods, settings)}}};
  for (const char* field : {"nodeSelector", "tolerations", "affinity", "priorityClassName",
                            "schedulerName", "serviceAccountName"}) {
    if (pods.contains(field)) spec[field] = pods[field];
  }
  json secrets = PullSecrets(settings, pods);
  if (!secrets.empty()) spec["imagePullSecrets"] = std::move(secrets);
  return spec;
}

// Users' annotations but this one, which would give their pods other servers.
void AnnotateServers(const std::vector<std::uint32_t>& with_pods, std::uint32_t servers,
                     json* pod_metadata) {
  if (pod_metadata->contains("annotations"))
    (*pod_metadata)["annotations"].erase(kServersAnnotation);
  if (with_pods.size() == servers) return;
  (*pod_metadata)["annotations"][kServersAnnotation] = json(with_pods).dump();
}

// Agents of the namespace and the controller reach gRPC; the page of metrics is for whoever
// scrapes.
json NetworkPolicy(json metadata, const json& selector, const Settings& settings) {
  const json agents = {{"podSelector",
                        {{"matchLabels",
                          {{"app.kubernetes.io/component", "agent"},
                           {"app.kubernetes.io/managed-by", "eidolon-controller"}}}}}};
  const json controller = {
      {"namespaceSelector",
       {{"matchLabels", {{"kubernetes.io/metadata.name", settings.policy_namespace}}}}},
      {"podSelector", {{"matchLabels", {{"app.kubernetes.io/component", "controller"}}}}}};
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "NetworkPolicy"},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"podSelector", {{"matchLabels", selector}}},
            {"policyTypes", {"Ingress"}},
            {"ingress",
             {{{"from", {agents, controller}},
               {"ports", {{{"protocol", "TCP"}, {"port", kNetworkPort}}}}},
              {{"ports", {{{"protocol", "TCP"}, {"port", kNetworkMetricsPort}}}}}}}}}};
}

}  // namespace

std::vector<json> JobObjects(const json& simulation_job, const job::ResolvedJob& resolved,
                             std::uint32_t attempt, const Settings& settings) {
  const std::string name = simulation_job["metadata"]["name"];
  const json labels = Labels("agent", kJobLabel, simulation_job);
  json pods = simulation_job["spec"].value("podTemplate", json::object());
  if (!settings.pod_templates_allowed) pods = json::object();
  json pod_labels = pods.value("labels", json::object());
  pod_labels.update(labels);
  json pod_metadata = {{"labels", pod_labels}};
  if (pods.contains("annotations")) pod_metadata["annotations"] = pods["annotations"];
  const std::vector<std::uint32_t> servers = resolved.AgentServers();
  AnnotateServers(servers, resolved.servers, &pod_metadata);
  json batch = {{"apiVersion", "batch/v1"},
                {"kind", "Job"},
                {"metadata", Metadata(name, simulation_job, labels)},
                {"spec",
                 {{"completions", servers.size()},
                  {"parallelism", servers.size()},
                  {"completionMode", "Indexed"},
                  {"backoffLimit", 0},
                  {"template",
                   {{"metadata", pod_metadata},
                    {"spec", PodSpec(name, resolved, simulation_job["spec"], pods, settings)}}}}}};
  batch["metadata"]["annotations"] = {{kAttemptAnnotation, StrCat(attempt)}};
  const json service = {{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", Metadata(name, simulation_job, labels)},
                        {"spec",
                         {{"clusterIP", "None"},
                          {"publishNotReadyAddresses", true},
                          {"selector", {{kJobLabel, name}}}}}};
  return {service, batch};
}

std::string NetworkNameOf(const std::string& owner_kind, const std::string& owner_name) {
  return owner_name + (owner_kind == job::kClusterKind ? "-network" : "-job-network");
}

std::string NetworkAddress(const std::string& network_name, const std::string& name_space) {
  return StrCat(network_name, ".", name_space, ".svc:", kNetworkPort);
}

std::vector<json> NetworkObjects(const json& owner, const Settings& settings) {
  const bool of_cluster = owner["kind"] == job::kClusterKind;
  const std::string name = NetworkNameOf(owner["kind"], owner["metadata"]["name"]);
  const char* owner_label = of_cluster ? kClusterLabel : kJobLabel;
  const json labels = Labels("network", owner_label, owner);
  const json selector = {{"app.kubernetes.io/component", "network"},
                         {owner_label, owner["metadata"]["name"]}};
  const json probe = {{"grpc", {{"port", kNetworkPort}}}, {"periodSeconds", 2}};
  json container = {{"name", "network"},
                    {"image", settings.services_image},
                    {"imagePullPolicy", settings.pull_policy},
                    {"command", {"/eidolon/bin/eidolon-network"}},
                    {"args",
                     {"--listen", StrCat("0.0.0.0:", kNetworkPort), "--metrics",
                      StrCat("0.0.0.0:", kNetworkMetricsPort)}},
                    {"ports",
                     {{{"name", "grpc"}, {"containerPort", kNetworkPort}},
                      {{"name", "metrics"}, {"containerPort", kNetworkMetricsPort}}}},
                    {"readinessProbe", probe},
                    {"resources", settings.network_resources},
                    {"securityContext", RestrictedNobody()}};
  if (!settings.token_key.empty()) {
    container["args"].push_back("--pass-key");
    container["args"].push_back(settings.token_key);
  }
  json pod = {{"automountServiceAccountToken", false},
              {"enableServiceLinks", false},
              {"securityContext",
               {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"containers", {container}}};
  pod.update(settings.network_placement);
  json secrets = PullSecrets(settings, json::object());
  if (!secrets.empty()) pod["imagePullSecrets"] = std::move(secrets);
  const json deployment = {{"apiVersion", "apps/v1"},
                           {"kind", "Deployment"},
                           {"metadata", Metadata(name, owner, labels)},
                           {"spec",
                            {{"replicas", 1},
                             {"strategy", {{"type", "Recreate"}}},
                             {"selector", {{"matchLabels", selector}}},
                             {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
  const json service = {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", Metadata(name, owner, labels)},
      {"spec",
       {{"selector", selector},
        {"ports",
         {{{"name", "grpc"}, {"port", kNetworkPort}, {"targetPort", "grpc"}},
          {{"name", "metrics"}, {"port", kNetworkMetricsPort}, {"targetPort", "metrics"}}}}}}};
  std::vector<json> objects = {service, deployment};
  if (!settings.policy_namespace.empty()) {
    objects.push_back(NetworkPolicy(Metadata(name, owner, labels), selector, settings));
  }
  return objects;
}

}  // namespace eidolon::controller::reconcile
