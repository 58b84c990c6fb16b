#include "services/cluster/fabric_document.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/text.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;
using network::topology::FabricSpec;
using network::topology::Routing;

constexpr double kFaultSecondsMax = 2e6;
constexpr double kGigabitsMax = 1e5;
constexpr std::size_t kSwitchesMax = 4096;
constexpr std::size_t kCablesMax = 65'536;

// A whole number of a plan.
struct PlanField {
  const char* name;
  std::uint32_t FabricSpec::*value;
  std::int64_t most;
  std::vector<std::string_view> kinds;  // That it is refused outside of; none: nowhere.
};

const std::vector<PlanField>& PlanFields() {
  static const std::vector<PlanField> fields = {
      {"cardsPerLeaf",
       &FabricSpec::cards_per_leaf,
       kServersMax,
       {"rail-optimised", "leaf-spine", "fat-tree"}},
      {"leavesPerPod", &FabricSpec::leaves_per_pod, kServersMax, {"fat-tree"}},
      {"spines", &FabricSpec::spines, kServersMax, {}},
      {"serversPerRouter", &FabricSpec::servers_per_router, 1024, {"dragonfly"}},
      {"routersPerGroup", &FabricSpec::routers_per_group, 256, {"dragonfly"}}};
  return fields;
}

bool IsFor(const std::vector<std::string_view>& kinds, const std::string& kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// A field that the network has no use for would be taken as meant otherwise.
void RefuseFor(Fields* fabric, const char* name, const std::vector<std::string_view>& kinds,
               const std::string& kind) {
  if (kinds.empty() || !fabric->Has(name) || IsFor(kinds, kind)) return;
  std::vector<std::string> of(kinds.begin(), kinds.end());
  fabric->Report(name, StrCat("has no meaning for preset '", kind, "'; it is one of ",
                              base::Join(of, ", "), "'s"));
}

void ReadPlan(Fields* fabric, FabricSpec* plan) {
  for (const PlanField& field : PlanFields()) {
    plan->*field.value = static_cast<std::uint32_t>(
        fabric->Integer(field.name, {1, field.most}, plan->*field.value));
    RefuseFor(fabric, field.name, field.kinds, plan->kind);
  }
  plan->link_gigabits_per_second = fabric->Number("linkGbps", {0.1, 1e6}, 0);
  RefuseFor(fabric, "linkGbps", {"dragonfly", "torus"}, plan->kind);
  plan->dimensions = fabric->IntegerList("dimensions", {1, 64});
  RefuseFor(fabric, "dimensions", {"torus"}, plan->kind);
}

using Switches = std::map<std::string, std::uint32_t>;

// The number of the switch that a field names; 0 after a complaint.
std::uint32_t ReadSwitch(Fields* fields, const char* name, const Switches& switches) {
  const std::string text = fields->Text(name);
  const auto found = switches.find(text);
  if (found != switches.end()) return found->second;
  fields->Report(name, fields->Has(name) ? StrCat("'", text, "' is no switch of the list")
                                         : std::string("is required"));
  return 0;
}

void ReadCables(Fields* fabric, const Switches& switches, FabricSpec* plan) {
  for (Fields& cable : fabric->ObjectList("cables")) {
    plan->cables.push_back(
        {.a = ReadSwitch(&cable, "from", switches),
         .b = ReadSwitch(&cable, "to", switches),
         .gigabits_per_second = cable.Number("gbps", {0, kGigabitsMax, true}, 0)});
    if (!cable.Has("gbps")) cable.Report("gbps", "is required");
    cable.Finish();
  }
}

// Without a card all cards of the server are plugged in.
void ReadPlugs(Fields* fabric, const Switches& switches, const ClusterSpec& spec,
               FabricSpec* plan) {
  const std::uint32_t rails = std::min(spec.nic_count, spec.gpus_per_server);
  for (Fields& plug : fabric->ObjectList("plugs")) {
    FabricSpec::Plug made;
    made.server = static_cast<std::uint32_t>(plug.Integer("server", {0, spec.servers - 1}, 0));
    if (!plug.Has("server")) plug.Report("server", "is required");
    made.at = ReadSwitch(&plug, "at", switches);
    const bool one = plug.Has("nic");
    made.rail = static_cast<std::uint32_t>(plug.Integer("nic", {0, rails - 1}, 0));
    for (; made.rail < rails; ++made.rail) {
      plan->plugs.push_back(made);
      if (one) break;
    }
    plug.Finish();
  }
}

void ReadGraph(Fields* fabric, const ClusterSpec& spec, FabricSpec* plan) {
  plan->switches = fabric->TextList("switches");
  Switches switches;
  for (const std::string& name : plan->switches) {
    if (!switches.emplace(name, static_cast<std::uint32_t>(switches.size())).second) {
      fabric->Report("switches", StrCat("name '", name, "' twice"));
    }
  }
  if (plan->switches.size() > kSwitchesMax) {
    fabric->Report("switches", StrCat("has more than ", kSwitchesMax, " entries"));
  }
  ReadCables(fabric, switches, plan);
  if (plan->cables.size() > kCablesMax) {
    fabric->Report("cables", StrCat("has more than ", kCablesMax, " entries"));
  }
  ReadPlugs(fabric, switches, spec, plan);
  for (const char* name : {"switches", "cables", "plugs"}) {
    RefuseFor(fabric, name, {"graph"}, plan->kind);
  }
}

void ReadEvents(Fields* fabric, ClusterSpec* spec) {
  for (Fields& fault : fabric->ObjectList("faults")) {
    spec->faults.push_back({.at_seconds = fault.Number("atSeconds", {0, kFaultSecondsMax}, 0),
                            .link = fault.Text("link"),
                            .capacity_factor = fault.Number("capacityFactor", {0, 1}, 1)});
    for (const char* name : {"atSeconds", "link", "capacityFactor"}) {
      if (!fault.Has(name)) fault.Report(name, "is required");
    }
    fault.Finish();
  }
  for (Fields& traffic : fabric->ObjectList("background")) {
    const auto server = [&](const char* name) {
      return static_cast<std::uint32_t>(traffic.Integer(name, {0, kServersMax - 1}, 0));
    };
    spec->background.push_back(
        {.from = server("from"),
         .to = server("to"),
         .rail = server("rail"),
         .gigabits_per_second = traffic.Number("gbps", {0, kGigabitsMax, true}, 0)});
    for (const char* name : {"from", "to", "gbps"}) {
      if (!traffic.Has(name)) traffic.Report(name, "is required");
    }
    traffic.Finish();
  }
}

// A plan that makes no sense is refused with the document and not when a job begins. Documents are
// read at every request that names them, so no network is built for it.
void CheckPlan(Fields* fabric, const ClusterSpec& spec) {
  if (spec.servers <= spec.servers_per_domain) return;
  const auto checked = network::topology::CheckFabric(
      spec.fabric, {.servers = spec.servers,
                    .rails = std::min(spec.nic_count, spec.gpus_per_server),
                    .rail_rate = std::uint64_t{1} << 30});
  if (checked) return;
  // "fabric.dimensions hold 8 servers, ...": the first word is the place.
  std::string_view text = checked.error().message;
  constexpr std::string_view kPrefix = "fabric.";
  std::string field = "preset";
  if (text.starts_with(kPrefix)) {
    text.remove_prefix(kPrefix.size());
    field = text.substr(0, text.find_first_of(" :"));
    text.remove_prefix(std::min(field.size(), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" :"), text.size()));
  }
  fabric->Report(field, std::string(text));
}

}  // namespace

void ReadFabric(Fields* fabric, ClusterSpec* spec) {
  FabricSpec& plan = spec->fabric;
  std::vector<std::string> kinds = network::topology::FabricKinds();
  kinds.emplace_back("none");
  plan.kind = fabric->Choice("preset", kinds, plan.kind);
  if (plan.kind == "none" && spec->servers > spec->servers_per_domain) {
    fabric->Report("preset", StrCat("'none' connects nothing, but the cluster has ", spec->servers,
                                    " servers"));
  }
  plan.oversubscription = fabric->Number("oversubscription", {1, 64}, 1.0);
  const std::string routing = fabric->Choice("routing", {"adaptive", "ecmp"}, "adaptive");
  plan.routing = routing == "ecmp" ? Routing::kEcmp : Routing::kAdaptive;
  spec->in_network_reduction = fabric->Bool("sharp", spec->in_network_reduction);
  spec->slingshot = fabric->Bool("slingshot", spec->slingshot);
  const std::size_t before = fabric->ProblemCount();
  ReadPlan(fabric, &plan);
  ReadGraph(fabric, *spec, &plan);
  if (fabric->ProblemCount() == before) CheckPlan(fabric, *spec);
  ReadEvents(fabric, spec);
  fabric->Finish();
}

nlohmann::json FabricToJson(const ClusterSpec& spec) {
  const FabricSpec& plan = spec.fabric;
  nlohmann::json fabric = {{"preset", plan.kind}, {"oversubscription", plan.oversubscription}};
  if (plan.routing == Routing::kEcmp) fabric["routing"] = "ecmp";
  const FabricSpec usual;
  for (const PlanField& field : PlanFields()) {
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
  for (const network::topology::Fault& fault : spec.faults) {
    fabric["faults"].push_back({{"atSeconds", fault.at_seconds},
                                {"link", fault.link},
                                {"capacityFactor", fault.capacity_factor}});
  }
  for (const network::topology::Background& traffic : spec.background) {
    fabric["background"].push_back({{"from", traffic.from},
                                    {"to", traffic.to},
                                    {"rail", traffic.rail},
                                    {"gbps", traffic.gigabits_per_second}});
  }
  return fabric;
}

}  // namespace eidolon::controller::job
