#include "services/controller/reconcile/memory_kill.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;

constexpr char kServerContainer[] = "server";
constexpr int kKilled = 9;

json NamedServer(const json& list) {
  for (const json& entry : list) {
    if (entry.value("name", "") == kServerContainer) return entry;
  }
  return json::object();
}

std::string LimitOf(const json& pod) {
  const json none = json::object();
  const json container = NamedServer(pod.value("spec", none).value("containers", json::array()));
  const json limits = container.value("resources", none).value("limits", none);
  if (!limits.contains("memory")) return "";
  return limits["memory"].is_string() ? limits["memory"].get<std::string>()
                                      : limits["memory"].dump();
}

}  // namespace

std::string DescribeMemoryKill(const json& pod) {
  const json none = json::object();
  const json status =
      NamedServer(pod.value("status", none).value("containerStatuses", json::array()));
  const json ended = status.value("state", none).value("terminated", none);
  // A container is called so as well when a process in it was killed and the agent has ended well.
  const bool was_killed =
      ended.value("signal", 0) == kKilled || ended.value("exitCode", 0) == 128 + kKilled;
  if (ended.value("reason", "") != "OOMKilled" || !was_killed) return "";
  const std::string limit = LimitOf(pod);
  if (limit.empty()) {
    return "the kernel killed its processes because its node had no memory left; "
           "limits.memoryPerServer reserves what they need";
  }
  return base::StrCat(
      "the kernel killed its processes because their host memory reached the limit "
      "of ",
      limit, ": raise limits.memoryPerServer, or keep less in host memory");
}

}  // namespace eidolon::controller::reconcile
