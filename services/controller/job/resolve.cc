// Resolve settles sizes and FoldJob decides whether all ranks run. Both are pure but for the GPU
// names and the amount of memory that they are given, and in embedded mode both run when a job
// comes in and again when it starts, because the cluster or the free memory may have changed. On
// Kubernetes the memory of nodes is unknown (0), so a job is folded only on request. Jitter
// excludes folding: it needs what each rank does by itself. The kernel's MemAvailable is used,
// which counts caches that can be dropped.
#include "services/controller/job/resolve.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

using base::StrCat;

namespace {

// An agent runs for each; a described cluster may be larger than any job on it.
constexpr std::uint32_t kJobServersMax = 4096;
// What a rank of a PyTorch program takes on this machine before it has data of its own: 0.35 GiB
// measured with stock torch 2.15 and the shim, and something for the program.
constexpr std::uint64_t kRankBytes = std::uint64_t{512} << 20;

}  // namespace

void CheckGpu(const ClusterSpec& cluster, const std::string& pointer, const KnownGpus& known_gpus,
              Problems* problems) {
  if (cluster.gpu.empty()) return;
  const std::vector<std::string> names = known_gpus();
  if (names.empty()) return;
  if (std::find(names.begin(), names.end(), cluster.gpu) != names.end()) return;
  std::string hint = DidYouMeanOneOf(cluster.gpu, names);
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

std::vector<std::uint32_t> ResolvedJob::AgentServers() const {
  if (fold.is_folded()) return fold.LiveServers(ranks_per_server);
  std::vector<std::uint32_t> all(servers);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes && std::getline(file, unit);) {
    if (name == "MemAvailable:") return kibibytes << 10;
  }
  return 0;
}

void FoldJob(std::uint64_t memory_bytes, std::span<const folding::Dimension> dimensions,
             ResolvedJob* resolved, Problems* problems) {
  const FoldingSpec& spec = resolved->spec.folding;
  if (!resolved->spec.replay.recording.empty()) return;
  const bool does_not_fit =
      memory_bytes > 0 && resolved->ranks() * kRankBytes > memory_bytes && resolved->ranks() > 1;
  const bool folds = spec.mode == FoldingSpec::Mode::kRequired ||
                     (spec.mode == FoldingSpec::Mode::kAuto && does_not_fit);
  if (!folds) return;
  if (resolved->spec.jitter) {
    problems->push_back({"/spec/hostModel/jitter",
                         "needs a process for each rank, as each has delays of its own, and this "
                         "job is folded: leave it out, or run all ranks on enough memory "
                         "(folding: {mode: off})"});
    return;
  }
  auto fold = folding::Fold::Make({.ranks = resolved->ranks(),
                                   .dimensions = {dimensions.begin(), dimensions.end()},
                                   .live_per_class = spec.live_per_class,
                                   .live = spec.live});
  if (!fold) {
    problems->push_back({"/spec/folding", fold.error().message});
    return;
  }
  const std::uint64_t live_bytes = fold->live().size() * kRankBytes;
  if (memory_bytes > 0 && live_bytes > memory_bytes) {
    problems->push_back(
        {"/spec/folding",
         base::StrCat(fold->Describe(), ": ", fold->live().size(), " live ranks need some ",
                      live_bytes >> 30, " GiB, and ", memory_bytes >> 30, " GiB are free")});
    return;
  }
  if (fold->mirrored_ranks() > 0) resolved->fold = std::move(*fold);
}

}  // namespace eidolon::controller::job
