// The rules for clusters are in services/contract's library, which knows no JSON: it reads by the
// interface cluster::Fields, and JsonFields provides a document by it. So limits, presets and
// messages are the same wherever a cluster is described. Lists are bounded before they are read, as
// an inline cluster is user input. CheckPlan uses an arbitrary rate of 2^30 bytes a second, because
// whether a fabric can be built does not depend on it. A prediction stores ToJson of its cluster,
// presets resolved: it stays readable when a preset changes.
#include "services/controller/job/cluster.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"
#include "services/contract/cluster/cpu_model.h"
#include "services/contract/cluster/document.h"
#include "services/contract/cluster/fabric_document.h"
#include "services/contract/cluster/fields.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;
using cluster::FabricSpec;

// A job's JSON as the library of clusters reads it: all problems are collected.
class JsonFields final : public cluster::Fields {
 public:
  explicit JsonFields(job::Fields fields) : fields_(std::move(fields)) {}

  bool Has(std::string_view name) override { return fields_.Has(name); }
  bool Is(std::string_view name, std::string_view text) override {
    const nlohmann::json* value = fields_.Find(name);
    return value != nullptr && value->is_string() && value->get_ref<const std::string&>() == text;
  }
  std::string Text(std::string_view name, std::string otherwise) override {
    return fields_.Text(name, std::move(otherwise));
  }
  std::string Choice(std::string_view name, const std::vector<std::string>& allowed,
                     std::string otherwise) override {
    return fields_.Choice(name, allowed, std::move(otherwise));
  }
  std::int64_t Integer(std::string_view name, cluster::IntegerRule rule,
                       std::int64_t otherwise) override {
    return fields_.Integer(name, {rule.min, rule.max}, otherwise);
  }
  double Number(std::string_view name, cluster::NumberRule rule, double otherwise) override {
    return fields_.Number(name, {rule.min, rule.max, rule.min_excluded}, otherwise);
  }
  bool Bool(std::string_view name, bool otherwise) override {
    return fields_.Bool(name, otherwise);
  }
  std::vector<std::string> TextList(std::string_view name, std::size_t most) override {
    if (Exceeds(name, most)) return {};
    return fields_.TextList(name);
  }
  std::vector<std::uint32_t> IntegerList(std::string_view name, cluster::IntegerRule rule,
                                         std::size_t most) override {
    if (Exceeds(name, most)) return {};
    return fields_.IntegerList(name, {rule.min, rule.max});
  }
  void ForEachObject(std::string_view name, std::size_t most,
                     const std::function<void(cluster::Fields&)>& visit) override {
    if (Exceeds(name, most)) return;
    for (job::Fields& entry : fields_.ObjectList(name)) {
      JsonFields fields(std::move(entry));
      visit(fields);
    }
  }
  std::unique_ptr<cluster::Fields> Object(std::string_view name) override {
    auto object = fields_.Object(name);
    if (!object) return nullptr;
    return std::make_unique<JsonFields>(std::move(*object));
  }
  void Report(std::string_view name, std::string detail) override {
    fields_.Report(name, std::move(detail));
  }
  void ReportText(std::string_view name, const std::string& text, std::string_view why) override {
    fields_.Report(name, StrCat("'", text, "' is ", why));
  }
  std::size_t ProblemCount() const override { return fields_.ProblemCount(); }
  void Finish() override { fields_.Finish(); }

 private:
  bool Exceeds(std::string_view name, std::size_t most) {
    const nlohmann::json* const list = fields_.Find(name);
    if (list == nullptr || !list->is_array() || list->size() <= most) return false;
    fields_.Report(name, StrCat("has more than ", most, " entries"));
    return true;
  }

  job::Fields fields_;
};

base::Result<void> CheckPlan(const ClusterSpec& spec) {
  return network::topology::CheckFabric(
      spec.fabric,
      {.servers = spec.servers, .rails = spec.Rails(), .rail_rate = std::uint64_t{1} << 30});
}

// The complete `fabric`, without fields that its kind has no use for.
nlohmann::json FabricToJson(const ClusterSpec& spec) {
  const FabricSpec& plan = spec.fabric;
  nlohmann::json fabric = {{"preset", plan.kind}, {"oversubscription", plan.oversubscription}};
  if (plan.routing == cluster::Routing::kEcmp) fabric["routing"] = "ecmp";
  const FabricSpec usual;
  for (const cluster::PlanField& field : cluster::PlanFields()) {
    if (plan.*field.value != usual.*field.value) fabric[field.name] = plan.*field.value;
  }
  if (plan.link_gigabits_per_second > 0) fabric["linkGbps"] = plan.link_gigabits_per_second;
  if (!plan.dimensions.empty()) fabric["dimensions"] = plan.dimensions;
  if (spec.in_network_reduction) fabric["sharp"] = true;
  if (spec.slingshot) fabric["slingshot"] = true;
  if (!plan.switches.empty()) fabric["switches"] = plan.switches;
  for (const FabricSpec::Cable& cable : plan.cables) {
    fabric["cables"].push_back({{"from", plan.switches[cable.a]},
                                {"to", plan.switches[cable.b]},
                                {"gbps", cable.gigabits_per_second}});
  }
  for (const FabricSpec::Plug& plug : plan.plugs) {
    fabric["plugs"].push_back(
        {{"server", plug.server}, {"nic", plug.rail}, {"at", plan.switches[plug.at]}});
  }
  for (const cluster::Fault& fault : spec.faults) {
    fabric["faults"].push_back({{"atSeconds", fault.at_seconds},
                                {"link", fault.link},
                                {"capacityFactor", fault.capacity_factor}});
  }
  for (const cluster::Background& traffic : spec.background) {
    nlohmann::json written = {{"from", traffic.from},
                              {"to", traffic.to},
                              {"rail", traffic.rail},
                              {"gbps", traffic.gigabits_per_second}};
    if (traffic.weight != cluster::Background{}.weight) written["weight"] = traffic.weight;
    fabric["background"].push_back(std::move(written));
  }
  return fabric;
}

}  // namespace

ClusterSpec ReadClusterSpec(Fields* fields, std::uint32_t servers_default) {
  JsonFields document(*fields);
  return cluster::ReadCluster(document, {.servers = servers_default, .check_plan = CheckPlan});
}

nlohmann::json ToJson(const ClusterSpec& spec) {
  nlohmann::json server = {
      {"gpu", spec.gpu},
      {"gpusPerServer", spec.gpus_per_server},
      {"nvlink", {{"generation", spec.nvlink_generation}, {"switch", spec.nvlink_switched}}},
      {"nics",
       {{"count", spec.nic_count},
        {"gbps", spec.nic_gigabits_per_second},
        {"latencyMicroseconds", spec.nic_latency_microseconds}}},
      {"cpu", {{"model", spec.cpu_is_unknown ? std::string(cluster::kUnknownCpu) : spec.cpu}}}};
  if (spec.gpu_clock != 1) server["gpuClock"] = spec.gpu_clock;
  if (spec.gpu_power_limit_watts > 0) server["powerLimit"] = spec.gpu_power_limit_watts;
  if (spec.cpu_speed_ratio > 0) server["cpu"]["speedRatio"] = spec.cpu_speed_ratio;
  if (spec.servers_per_domain > 1) server["serversPerDomain"] = spec.servers_per_domain;
  if (spec.host_bridges > 1) server["hostBridges"] = spec.host_bridges;
  return {
      {"servers", spec.servers},
      {"server", server},
      {"fabric", FabricToJson(spec)},
      {"software", {{"driver", spec.driver_version}, {"nccl", spec.nccl_version}}},
  };
}

}  // namespace eidolon::controller::job
