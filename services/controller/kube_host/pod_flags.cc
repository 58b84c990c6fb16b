#include "services/controller/kube_host/pod_flags.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/text.h"
#include "services/controller/job/quantity.h"

namespace eidolon::controller::kube_host {
namespace {

using base::Result;
using base::StrCat;
using nlohmann::json;

constexpr std::string_view kResources = "resources";
// Fields of a pod that determine where it runs.
constexpr std::string_view kPlacement[] = {"nodeSelector", "tolerations", "affinity",
                                           "priorityClassName"};

std::unexpected<base::Error> Unreadable(std::string_view flag, std::string_view wanted,
                                        const std::string& given) {
  return base::Fail(base::ErrorCode::kInvalidArgument,
                    StrCat(flag, " must be ", wanted, ", not '", given, "'"));
}

Result<std::uint64_t> ReadMemory(std::string_view flag, const std::string& text) {
  const auto bytes = job::ParseBytes(text);
  if (!bytes) return Unreadable(flag, "an amount of memory such as 2Gi", text);
  return *bytes;
}

// Null, as a chart writes what its user has emptied, is an empty object.
Result<json> ReadObject(std::string_view flag, const std::string& text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_null()) return json::object();
  if (!object.is_object()) return Unreadable(flag, "a JSON object", text);
  return object;
}

Result<void> ReadNetworkPod(const std::string& text, reconcile::Settings* settings) {
  const auto pod = ReadObject("--network-pod", text);
  if (!pod) return std::unexpected(pod.error());
  settings->network_resources = json::object();
  settings->network_placement = json::object();
  for (const auto& [name, value] : pod->items()) {
    const bool is_placement = std::ranges::find(kPlacement, name) != std::end(kPlacement);
    if (name != kResources && !is_placement) {
      return Unreadable("--network-pod",
                        "an object of resources, nodeSelector, tolerations, affinity and "
                        "priorityClassName",
                        text);
    }
    if (value.empty() || value == "") continue;
    if (is_placement) {
      settings->network_placement[name] = value;
    } else {
      settings->network_resources = value;
    }
  }
  return {};
}

}  // namespace

Result<void> ReadPodFlags(const PodFlags& flags, reconcile::Settings* settings) {
  const auto requested = ReadMemory("--memory-per-rank", flags.memory_per_rank);
  if (!requested) return std::unexpected(requested.error());
  settings->memory_bytes_per_rank = *requested;
  const auto limit = ReadMemory("--memory-limit-per-rank", flags.memory_limit_per_rank);
  if (!limit) return std::unexpected(limit.error());
  settings->memory_limit_bytes_per_rank = *limit;
  if (!flags.injection_resources.empty()) {
    auto resources = ReadObject("--injection-resources", flags.injection_resources);
    if (!resources) return std::unexpected(resources.error());
    settings->injection_resources = std::move(*resources);
  }
  if (flags.network_pod.empty()) return {};
  return ReadNetworkPod(flags.network_pod, settings);
}

}  // namespace eidolon::controller::kube_host
