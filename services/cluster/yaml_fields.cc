#include "services/network/topology/document.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>

#include <yaml-cpp/yaml.h>

#include "services/base/text.h"
#include "services/yaml/bounded.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Reads the fields of one mapping, and remembers the first complaint.
class Reader {
 public:
  Reader(const YAML::Node& node, std::string path, std::optional<base::Error>& complaint)
      : node_(node), path_(std::move(path)), complaint_(complaint) {
    if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap()) Complain("", "is no mapping");
    if (node_.IsMap()) CheckNames();
  }

  void Complain(const std::string& field, const std::string& what) {
    if (complaint_) return;
    complaint_ =
        base::Error{ErrorCode::kInvalidArgument,
                    StrCat(path_, path_.empty() || field.empty() ? "" : ".", field, " ", what)};
  }

  YAML::Node Take(const std::string& field) {
    seen_.insert(field);
    if (!node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    return node_[field];
  }

  template <typename T>
  void Read(const std::string& field, T& value) {
    const YAML::Node child = Take(field);
    if (!child.IsDefined() || child.IsNull()) return;
    if (!child.IsScalar()) return Complain(field, "must be a single value");
    if constexpr (std::is_same_v<T, std::string>) {
      value = child.Scalar();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (child.Scalar() != "true" && child.Scalar() != "false") {
        return Complain(field, StrCat("is '", child.Scalar(), "'; it must be true or false"));
      }
      value = child.Scalar() == "true";
    } else {
      ReadNumber(field, child.Scalar(), value);
    }
  }

  // Names that the mapping has and nobody asked for, with the nearest known one.
  void Finish() {
    if (!node_.IsMap()) return;
    const std::vector<std::string> known(seen_.begin(), seen_.end());
    for (const auto& entry : node_) {
      if (!entry.first.IsScalar() || seen_.contains(entry.first.Scalar())) continue;
      const auto nearest = base::NearestName(entry.first.Scalar(), known);
      Complain(entry.first.Scalar(),
               nearest ? StrCat("is unknown; did you mean ", *nearest, "?") : "is unknown");
    }
  }

  std::string path(const std::string& field) const {
    return path_.empty() ? field : StrCat(path_, ".", field);
  }
  std::optional<base::Error>& complaint() { return complaint_; }

 private:
  void CheckNames() {
    std::set<std::string> names;
    for (const auto& entry : node_) {
      if (!entry.first.IsScalar()) return Complain("", "has a field whose name is no word");
      if (!names.insert(entry.first.Scalar()).second) {
        return Complain(entry.first.Scalar(), "is given twice");
      }
    }
  }

  template <typename T>
  void ReadNumber(const std::string& field, const std::string& text, T& value) {
    const auto number = base::ParseNumber(text);
    if (!number) return Complain(field, StrCat("is '", text, "', which is no number"));
    if constexpr (std::is_integral_v<T>) {
      if (*number < 0 || *number > 4e9 || *number != static_cast<double>(static_cast<T>(*number))) {
        return Complain(field, StrCat("is '", text, "'; it must be a whole number"));
      }
    }
    value = static_cast<T>(*number);
  }

  YAML::Node node_;
  std::string path_;
  std::optional<base::Error>& complaint_;
  std::set<std::string> seen_;
};

void ReadServer(Reader& parent, Cluster& cluster) {
  Reader server(parent.Take("server"), "server", parent.complaint());
  server.Take("preset");  // Read before everything else.
  server.Read("gpu", cluster.gpu);
  server.Read("gpusPerServer", cluster.gpus_per_server);
  server.Read("hostBridges", cluster.host_bridges);
  server.Read("serversPerDomain", cluster.servers_per_domain);
  Reader nvlink(server.Take("nvlink"), "server.nvlink", parent.complaint());
  nvlink.Read("generation", cluster.nvlink_generation);
  nvlink.Read("switch", cluster.nvlink_switched);
  nvlink.Finish();
  Reader nics(server.Take("nics"), "server.nics", parent.complaint());
  nics.Read("count", cluster.nics);
  nics.Read("gbps", cluster.nic_gigabits_per_second);
  nics.Read("latencyMicroseconds", cluster.nic_latency_microseconds);
  nics.Finish();
  server.Finish();
}

// Switches by name.
using Names = std::map<std::string, std::uint32_t>;

// More than any description of a cluster needs; a document of aliases could name billions.
constexpr std::size_t kSwitchesMax = 4096;
constexpr std::size_t kCablesMax = std::size_t{1} << 18;
constexpr std::size_t kEventsMax = 10'000;
constexpr std::size_t kPlugsMax = std::size_t{1} << 20;

// True when `field` holds a list, of at most `most` things.
bool IsList(Reader& fabric, const YAML::Node& list, const char* field, std::size_t most) {
  if (!list.IsDefined()) return false;
  if (!list.IsSequence()) {
    fabric.Complain(field, "must be a list");
  } else if (list.size() > most) {
    fabric.Complain(field, StrCat("has ", list.size(), " entries; at most ", most));
  } else {
    return true;
  }
  return false;
}

std::optional<std::uint32_t> Find(const Names& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

// {from: leaf-0, to: spine-1, gbps: 400}
void ReadCables(Reader& fabric, const Names& names, FabricSpec& plan) {
  const YAML::Node cables = fabric.Take("cables");
  if (!IsList(fabric, cables, "cables", kCablesMax)) return;
  for (std::size_t at = 0; at < cables.size(); ++at) {
    Reader cable(cables[at], StrCat("fabric.cables[", at, "]"), fabric.complaint());
    std::string from, to;
    FabricSpec::Cable made;
    cable.Read("from", from);
    cable.Read("to", to);
    cable.Read("gbps", made.gigabits_per_second);
    cable.Finish();
    const auto a = Find(names, from);
    const auto b = Find(names, to);
    if (!a || !b) {
      return cable.Complain(a ? "to" : "from",
                            StrCat("is '", a ? to : from, "', which is no switch of the list"));
    }
    made.a = *a;
    made.b = *b;
    plan.cables.push_back(made);
  }
}

// {server: 0, nic: 1, at: leaf-0}; without nic all cards of the server.
void ReadPlugs(Reader& fabric, const Names& names, std::uint32_t nics, FabricSpec& plan) {
  const YAML::Node plugs = fabric.Take("plugs");
  if (!IsList(fabric, plugs, "plugs", kPlugsMax)) return;
  for (std::size_t at = 0; at < plugs.size(); ++at) {
    Reader plug(plugs[at], StrCat("fabric.plugs[", at, "]"), fabric.complaint());
    std::string name;
    FabricSpec::Plug made;
    constexpr std::uint32_t kAll = 0xffffffff;
    made.rail = kAll;
    plug.Read("server", made.server);
    plug.Read("nic", made.rail);
    plug.Read("at", name);
    plug.Finish();
    const auto where = Find(names, name);
    if (!where) return plug.Complain("at", StrCat("is '", name, "', which is no switch"));
    made.at = *where;
    const bool all = made.rail == kAll;
    for (std::uint32_t rail = 0; rail < (all ? std::min(nics, 1024u) : 1); ++rail) {
      if (plan.plugs.size() == kPlugsMax) {
        return fabric.Complain("plugs", StrCat("name more than ", kPlugsMax, " cards"));
      }
      if (all) made.rail = rail;
      plan.plugs.push_back(made);
    }
  }
}

Names ReadSwitches(Reader& fabric, FabricSpec& plan) {
  Names names;
  const YAML::Node switches = fabric.Take("switches");
  if (!IsList(fabric, switches, "switches", kSwitchesMax)) return names;
  for (const YAML::Node& name : switches) {
    const auto number = static_cast<std::uint32_t>(names.size());
    if (!name.IsScalar() || !names.emplace(name.Scalar(), number).second) {
      fabric.Complain("switches", "must hold names, each once");
      return names;
    }
    plan.switches.push_back(name.Scalar());
  }
  return names;
}

void ReadDimensions(Reader& fabric, FabricSpec& plan) {
  const YAML::Node dimensions = fabric.Take("dimensions");
  if (!IsList(fabric, dimensions, "dimensions", 16)) return;
  plan.dimensions.clear();
  for (const YAML::Node& length : dimensions) {
    const auto number = length.IsScalar() ? base::ParseInteger(length.Scalar()) : std::nullopt;
    if (!number || *number < 1 || *number > 4096) {
      return fabric.Complain("dimensions", "must hold whole numbers above 0");
    }
    plan.dimensions.push_back(static_cast<std::uint32_t>(*number));
  }
}

// {atSeconds: 1.5, link: "leaf 3", capacityFactor: 0.5}
void ReadFaults(Reader& fabric, Cluster& cluster) {
  const YAML::Node faults = fabric.Take("faults");
  if (!IsList(fabric, faults, "faults", kEventsMax)) return;
  for (std::size_t at = 0; at < faults.size(); ++at) {
    Reader fault(faults[at], StrCat("fabric.faults[", at, "]"), fabric.complaint());
    Fault made;
    fault.Read("atSeconds", made.at_seconds);
    fault.Read("link", made.link);
    fault.Read("capacityFactor", made.capacity_factor);
    fault.Finish();
    cluster.faults.push_back(made);
  }
}

// {from: 0, to: 5, rail: 2, gbps: 100}
void ReadBackground(Reader& fabric, Cluster& cluster) {
  const YAML::Node background = fabric.Take("background");
  if (!IsList(fabric, background, "background", kEventsMax)) return;
  for (std::size_t at = 0; at < background.size(); ++at) {
    Reader traffic(background[at], StrCat("fabric.background[", at, "]"), fabric.complaint());
    Background made;
    traffic.Read("from", made.from);
    traffic.Read("to", made.to);
    traffic.Read("rail", made.rail);
    traffic.Read("gbps", made.gigabits_per_second);
    traffic.Read("weight", made.weight);
    traffic.Finish();
    cluster.background.push_back(made);
  }
}

void ReadFabric(Reader& parent, Cluster& cluster) {
  Reader fabric(parent.Take("fabric"), "fabric", parent.complaint());
  FabricSpec& plan = cluster.plan;
  fabric.Read("preset", cluster.fabric);
  fabric.Read("oversubscription", cluster.oversubscription);
  std::string routing = plan.routing == Routing::kEcmp ? "ecmp" : "adaptive";
  fabric.Read("routing", routing);
  if (routing != "ecmp" && routing != "adaptive") {
    fabric.Complain("routing", StrCat("is '", routing, "'; adaptive and ecmp are known"));
  }
  plan.routing = routing == "ecmp" ? Routing::kEcmp : Routing::kAdaptive;
  fabric.Read("cardsPerLeaf", plan.cards_per_leaf);
  fabric.Read("leavesPerPod", plan.leaves_per_pod);
  fabric.Read("spines", plan.spines);
  fabric.Read("serversPerRouter", plan.servers_per_router);
  fabric.Read("routersPerGroup", plan.routers_per_group);
  fabric.Read("linkGbps", plan.link_gigabits_per_second);
  fabric.Read("sharp", cluster.in_network_reduction);
  fabric.Read("slingshot", cluster.slingshot);
  ReadDimensions(fabric, plan);
  const Names names = ReadSwitches(fabric, plan);
  ReadCables(fabric, names, plan);
  ReadPlugs(fabric, names, cluster.nics, plan);
  ReadFaults(fabric, cluster);
  ReadBackground(fabric, cluster);
  fabric.Finish();
}

Result<Cluster> Start(const YAML::Node& root) {
  const YAML::Node server = root["server"];
  if (!server.IsDefined() || !server.IsMap() || !server["preset"].IsDefined()) {
    return Cluster{.name = "cluster", .fabric = "rail-optimised"};
  }
  if (!server["preset"].IsScalar()) {
    return Fail(ErrorCode::kInvalidArgument, "server.preset must be a name");
  }
  return ClusterPreset(server["preset"].Scalar());
}

Result<Cluster> Read(const YAML::Node& root) {
  if (!root.IsMap()) return Fail(ErrorCode::kInvalidArgument, "the document is no mapping");
  auto cluster = Start(root);
  if (!cluster) return cluster;
  std::optional<base::Error> complaint;
  Reader top(root, "", complaint);
  top.Read("name", cluster->name);
  top.Read("servers", cluster->servers);
  ReadServer(top, *cluster);
  ReadFabric(top, *cluster);
  top.Finish();
  if (complaint) return std::unexpected(*complaint);
  return cluster;
}

}  // namespace

Result<Cluster> ParseCluster(std::string_view text) {
  constexpr yaml::Bounds kBounds = {
      .text_bytes_max = 8u << 20, .values_max = 200'000, .scalars_bytes_max = 16u << 20};
  if (auto within = yaml::CheckBounds(text, kBounds); !within) {
    return std::unexpected(within.error());
  }
  // yaml-cpp speaks by exceptions; they end here.
  try {
    return Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument, error.what());
  }
}

Result<Cluster> LoadCluster(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, StrCat("cannot open ", path));
  std::ostringstream text;
  text << file.rdbuf();
  auto cluster = ParseCluster(text.str());
  if (!cluster) return base::Wrap(path, cluster.error());
  return cluster;
}

}  // namespace eidolon::network::topology
