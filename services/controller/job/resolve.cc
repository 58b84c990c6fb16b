#include "services/controller/job/resolve.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

using base::StrCat;

namespace {

// An agent runs for each; a described cluster may be larger than any job on it.
constexpr std::uint32_t kJobServersMax = 4096;

}  // namespace

void CheckGpu(const ClusterSpec& cluster, const std::string& pointer, const KnownGpus& known_gpus,
              Problems* problems) {
  if (cluster.gpu.empty()) return;
  const std::vector<std::string> names = known_gpus();
  if (names.empty()) return;
  if (std::find(names.begin(), names.end(), cluster.gpu) != names.end()) return;
  std::string hint = DidYouMean(cluster.gpu, names);
  // "H100" means one of the models that begin so.
  const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(cluster.gpu + "-");
  });
  if (hint.empty() && longer != names.end()) hint = ", did you mean '" + *longer + "'?";
  if (hint.empty()) hint = ".";
  problems->push_back({pointer + "/server/gpu", StrCat("no GPU model '", cluster.gpu, "'", hint,
                                                       " Known: ", base::Join(names, ", "))});
}

ResolvedJob Resolve(const JobSpec& spec, const ClusterSpec* referenced, const KnownGpus& known_gpus,
                    Problems* problems) {
  CHECK(spec.cluster || referenced != nullptr);
  ResolvedJob resolved;
  resolved.spec = spec;
  resolved.cluster = spec.cluster ? *spec.cluster : *referenced;
  CheckGpu(resolved.cluster, spec.cluster ? "/spec/cluster" : "/spec/clusterRef", known_gpus,
           problems);
  resolved.servers = spec.servers.value_or(resolved.cluster.servers);
  if (resolved.servers > resolved.cluster.servers) {
    problems->push_back({"/spec/servers", StrCat("is ", resolved.servers, ", but the cluster has ",
                                                 resolved.cluster.servers, " server(s)")});
  }
  if (!spec.servers && resolved.servers > kJobServersMax) {
    problems->push_back(
        {"/spec/servers", StrCat("is required: the cluster has ", resolved.servers,
                                 " servers, and a job runs on at most ", kJobServersMax)});
  }
  const std::uint32_t gpus = resolved.cluster.gpus_per_server;
  resolved.ranks_per_server = spec.ranks_per_server.value_or(gpus);
  if (resolved.ranks_per_server > gpus) {
    problems->push_back(
        {"/spec/ranksPerServer", StrCat("is ", resolved.ranks_per_server, ", but a server has ",
                                        gpus, " GPU(s); each rank needs its own")});
  }
  return resolved;
}

}  // namespace eidolon::controller::job
