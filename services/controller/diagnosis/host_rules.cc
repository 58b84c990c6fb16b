// Rules about the host: GPUs that wait for it.
#include <algorithm>

#include "services/base/text.h"
#include "services/controller/diagnosis/rules.h"

namespace eidolon::controller::diagnosis {

using base::StrCat;

// The iteration cannot be shorter than its GPU work. CUDA graphs leave that as it is;
// torch.compile may shorten it too, which this bound does not count.
std::optional<job::Finding> HostBound(const Facts& facts) {
  // A host that works for less time than its GPU waits for it waits itself (InputBound). Its GPU
  // may then work during all of its work, except for what is more than the GPU's own.
  const bool waits_itself = Matters(facts.host - facts.host_work, facts);
  const double cost =
      waits_itself ? facts.host_work - facts.gpu_work() : std::min(facts.host, facts.host_work);
  if (!Matters(cost, facts)) return std::nullopt;
  const double waits = facts.host - cost;
  return FindingOf({.rule = "host",
                    .cause = StrCat("Limited by ", facts.is_python ? "Python" : "the host", ": ",
                                    Brief(facts.host_work), " of host work for ",
                                    Brief(facts.gpu_work()), " of GPU work"),
                    .suggestion = "CUDA graphs or torch.compile",
                    .cost = cost,
                    .least = facts.gpu_work() + waits,
                    .evidence = {{"hostWorkSeconds", facts.host_work},
                                 {"gpuWorkSeconds", facts.gpu_work()},
                                 {"gpuWaitsForHostSeconds", facts.host}}},
                   facts);
}

std::optional<job::Finding> InputBound(const Facts& facts) {
  const double cost = facts.host - facts.host_work;
  if (!Matters(cost, facts)) return std::nullopt;
  return FindingOf(
      {.rule = "input",
       .cause = StrCat("Limited by input: GPUs wait ", Brief(facts.host), " of ",
                       Brief(facts.seconds), " for hosts that work only ", Brief(facts.host_work),
                       " and wait themselves (data loader, disk, sleep)"),
       .suggestion = "More workers or prefetching",
       .cost = cost,
       .least = facts.seconds - cost,
       .evidence = {{"gpuWaitsForHostSeconds", facts.host}, {"hostWorkSeconds", facts.host_work}}},
      facts);
}

}  // namespace eidolon::controller::diagnosis
