// A network has many kinds, and each uses a few of the fields. A field that the chosen kind does
// not use is refused: its author expects an effect. Shape and limits are checked first. Only
// a plan without a complaint is handed to the check that knows networks (CheckPlan), and the first
// word of its sentence gives the complaint back to a field. Faults and traffic are read after that,
// so they cannot keep the plan from being checked.
#include "services/contract/cluster/fabric_document.h"

#include <algorithm>
#include <map>
#include <string>

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"

namespace eidolon::cluster {
namespace {

using base::StrCat;

bool IsFor(const std::vector<std::string_view>& kinds, const std::string& kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// A field that the network has no use for would be taken as meant otherwise.
void RefuseFor(Fields& fabric, const char* name, const std::vector<std::string_view>& kinds,
               const std::string& kind) {
  if (kinds.empty() || !fabric.Has(name) || IsFor(kinds, kind)) return;
  std::vector<std::string> of(kinds.begin(), kinds.end());
  fabric.Report(name, StrCat("has no meaning for preset '", kind, "'; it is one of ",
                             base::Join(of, ", "), "'s"));
}

void ReadPlan(Fields& fabric, FabricSpec& plan) {
  for (const PlanField& field : PlanFields()) {
    plan.*field.value =
        static_cast<std::uint32_t>(fabric.Integer(field.name, {1, field.most}, plan.*field.value));
    RefuseFor(fabric, field.name, field.kinds, plan.kind);
  }
  plan.link_gigabits_per_second =
      fabric.Number("linkGbps", {kLinkGigabitsMin, kLinkGigabitsMax}, 0);
  RefuseFor(fabric, "linkGbps", {"dragonfly", "torus"}, plan.kind);
  plan.dimensions = fabric.IntegerList("dimensions", {1, kDimensionMax}, kDimensionsMax);
  RefuseFor(fabric, "dimensions", {"torus"}, plan.kind);
}

using Switches = std::map<std::string, std::uint32_t>;

// The number of the switch that a field names; 0 after a complaint.
std::uint32_t ReadSwitch(Fields& fields, const char* name, const Switches& switches) {
  const std::string text = fields.Text(name, "");
  const auto found = switches.find(text);
  if (found != switches.end()) return found->second;
  if (fields.Has(name)) {
    fields.ReportText(name, text, "not a switch of the list");
  } else {
    fields.Report(name, "is required");
  }
  return 0;
}

void ReadCables(Fields& fabric, const Switches& switches, FabricSpec& plan) {
  fabric.ForEachObject("cables", kCablesMax, [&](Fields& cable) {
    plan.cables.push_back(
        {.a = ReadSwitch(cable, "from", switches),
         .b = ReadSwitch(cable, "to", switches),
         .gigabits_per_second = cable.Number("gbps", {0, kLinkGigabitsMax, true}, 0)});
    if (!cable.Has("gbps")) cable.Report("gbps", "is required");
    cable.Finish();
  });
}

// Without a NIC all NICs of the server are plugged in.
void ReadPlugs(Fields& fabric, const Switches& switches, const ClusterSpec& spec,
               FabricSpec& plan) {
  const std::uint32_t rails = spec.Rails();
  bool many = false;
  fabric.ForEachObject("plugs", kPlugsMax, [&](Fields& plug) {
    FabricSpec::Plug made;
    made.server = static_cast<std::uint32_t>(plug.Integer("server", {0, spec.servers - 1}, 0));
    if (!plug.Has("server")) plug.Report("server", "is required");
    made.at = ReadSwitch(plug, "at", switches);
    const bool one = plug.Has("nic");
    made.rail = static_cast<std::uint32_t>(plug.Integer("nic", {0, rails - 1}, 0));
    for (; made.rail < rails && !many; ++made.rail) {
      many = plan.plugs.size() == kPlugsMax;
      if (!many) plan.plugs.push_back(made);
      if (one) break;
    }
    plug.Finish();
  });
  if (many) fabric.Report("plugs", StrCat("name more than ", kPlugsMax, " NICs"));
}

void ReadGraph(Fields& fabric, const ClusterSpec& spec, FabricSpec& plan) {
  plan.switches = fabric.TextList("switches", kSwitchesMax);
  Switches switches;
  for (const std::string& name : plan.switches) {
    if (!switches.emplace(name, static_cast<std::uint32_t>(switches.size())).second) {
      fabric.Report("switches",
                    StrCat("must hold names, each once: there is name '", name, "' twice"));
    }
  }
  ReadCables(fabric, switches, plan);
  ReadPlugs(fabric, switches, spec, plan);
  for (const char* name : {"switches", "cables", "plugs"}) {
    RefuseFor(fabric, name, {"graph"}, plan.kind);
  }
}

void Require(Fields& fields, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!fields.Has(name)) fields.Report(name, "is required");
  }
}

void ReadEvents(Fields& fabric, ClusterSpec& spec) {
  fabric.ForEachObject("faults", kEventsMax, [&](Fields& fault) {
    spec.faults.push_back({.at_seconds = fault.Number("atSeconds", {0, kFaultSecondsMax}, 0),
                           .link = fault.Text("link", ""),
                           .capacity_factor = fault.Number("capacityFactor", {0, 1}, 1)});
    Require(fault, {"atSeconds", "link", "capacityFactor"});
    fault.Finish();
  });
  fabric.ForEachObject("background", kEventsMax, [&](Fields& traffic) {
    const auto whole = [&](const char* name, IntegerRule rule, std::uint32_t otherwise) {
      return static_cast<std::uint32_t>(traffic.Integer(name, rule, otherwise));
    };
    Background made;
    made.from = whole("from", {0, kServersMax - 1}, 0);
    made.to = whole("to", {0, kServersMax - 1}, 0);
    made.rail = whole("rail", {0, kNicsMax - 1}, 0);
    made.gigabits_per_second = traffic.Number("gbps", {0, kLinkGigabitsMax, true}, 0);
    made.weight = whole("weight", {1, kWeightMax}, made.weight);
    spec.background.push_back(made);
    Require(traffic, {"from", "to", "gbps"});
    traffic.Finish();
  });
}

// A plan that makes no sense is refused with the document and not when a job begins. Documents are
// read at every request that names them, so no network is built for it.
void CheckPlan(Fields& fabric, const PlanCheck& check, const ClusterSpec& spec) {
  if (!check || !spec.NeedsFabric()) return;
  const auto checked = check(spec);
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
  fabric.Report(field, std::string(text));
}

}  // namespace

const std::vector<PlanField>& PlanFields() {
  static const std::vector<PlanField> fields = {
      {"cardsPerLeaf",
       &FabricSpec::cards_per_leaf,
       kTierMax,
       {"rail-optimised", "leaf-spine", "fat-tree"}},
      {"leavesPerPod", &FabricSpec::leaves_per_pod, kTierMax, {"fat-tree"}},
      {"spines", &FabricSpec::spines, kTierMax, {}},
      {"serversPerRouter", &FabricSpec::servers_per_router, kServersPerRouterMax, {"dragonfly"}},
      {"routersPerGroup", &FabricSpec::routers_per_group, kRoutersPerGroupMax, {"dragonfly"}}};
  return fields;
}

void ReadFabric(Fields& fabric, const PlanCheck& check, ClusterSpec& spec) {
  FabricSpec& plan = spec.fabric;
  std::vector<std::string> kinds = FabricKinds();
  kinds.emplace_back("none");
  plan.kind = fabric.Choice("preset", kinds, plan.kind);
  if (plan.kind == "none" && spec.NeedsFabric()) {
    fabric.Report("preset", StrCat("'none' connects nothing, but the cluster has ", spec.servers,
                                   " servers"));
  }
  plan.oversubscription = fabric.Number("oversubscription", {1, kOversubscriptionMax}, 1.0);
  const char* const usual = plan.routing == Routing::kEcmp ? "ecmp" : "adaptive";
  const std::string routing = fabric.Choice("routing", {"adaptive", "ecmp"}, usual);
  plan.routing = routing == "ecmp" ? Routing::kEcmp : Routing::kAdaptive;
  spec.in_network_reduction = fabric.Bool("sharp", spec.in_network_reduction);
  spec.slingshot = fabric.Bool("slingshot", spec.slingshot);
  const std::size_t before = fabric.ProblemCount();
  ReadPlan(fabric, plan);
  ReadGraph(fabric, spec, plan);
  if (fabric.ProblemCount() == before) CheckPlan(fabric, check, spec);
  ReadEvents(fabric, spec);
  fabric.Finish();
}

}  // namespace eidolon::cluster
