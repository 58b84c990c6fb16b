#include "services/controller/reconcile/resources.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "services/base/text.h"
#include "services/controller/job/quantity.h"

namespace eidolon::controller::reconcile {
namespace {

using base::StrCat;
using nlohmann::json;

// Processes of the pod that has the most: one template is for all.
std::uint64_t RanksOfAPod(const job::ResolvedJob& resolved) {
  if (!resolved.fold.is_folded()) return resolved.ranks_per_server;
  std::size_t most = 0;
  for (const std::uint32_t server : resolved.AgentServers()) {
    most = std::max(most, resolved.fold.LiveOn(server, resolved.ranks_per_server).size());
  }
  return most;
}

std::uint64_t RequestedBytes(const job::ResolvedJob& resolved, const Settings& settings) {
  const std::uint64_t own = resolved.spec.memory_per_server_bytes;
  return own != 0 ? own : RanksOfAPod(resolved) * settings.memory_bytes_per_rank;
}

// 0: none.
std::uint64_t LimitBytes(const job::ResolvedJob& resolved, const Settings& settings) {
  const std::uint64_t own = resolved.spec.memory_per_server_bytes;
  if (own != 0 || settings.memory_limit_bytes_per_rank == 0) return own;
  // The API server refuses a limit below its request.
  return std::max(RanksOfAPod(resolved) * settings.memory_limit_bytes_per_rank,
                  RequestedBytes(resolved, settings));
}

std::uint64_t CpuLimitMillis(std::uint64_t ranks, const Settings& settings) {
  if (settings.cpu_limit_millis_per_rank == 0) return 0;
  return ranks * std::max(settings.cpu_limit_millis_per_rank, settings.cpu_millis_per_rank);
}

}  // namespace

json ServerResources(const job::ResolvedJob& resolved, const json& pods, const Settings& settings) {
  if (pods.contains("resources")) return pods["resources"];
  const std::uint64_t ranks = RanksOfAPod(resolved);
  json resources = {{"requests",
                     {{"cpu", StrCat(ranks * settings.cpu_millis_per_rank, "m")},
                      {"memory", StrCat(RequestedBytes(resolved, settings))}}}};
  if (const std::uint64_t limit = LimitBytes(resolved, settings); limit != 0) {
    resources["limits"]["memory"] = StrCat(limit);
  }
  if (const std::uint64_t limit = CpuLimitMillis(ranks, settings); limit != 0) {
    resources["limits"]["cpu"] = StrCat(limit, "m");
  }
  return resources;
}

std::uint64_t TmpfsBytes(const job::ResolvedJob& resolved, const json& pods,
                         const Settings& settings) {
  const json none = json::object();
  const json given = pods.value("resources", none);
  const json limits = given.is_object() ? given.value("limits", none) : none;
  if (limits.is_object() && limits.contains("memory")) {
    const json& memory = limits["memory"];
    const auto bytes =
        job::ParseBytes(memory.is_string() ? memory.get<std::string>() : memory.dump());
    // Quantities that we do not read are left to the API server.
    if (bytes) return *bytes / 2;
  }
  return LimitBytes(resolved, settings) / 2;
}

}  // namespace eidolon::controller::reconcile
