// The picture is for a first look at a cluster, so it needs no layout program: switches lie in rows
// by their distance from the servers, which a breadth-first search gives. A torus has no rows,
// because its servers are neighbours, and goes into a circle. Rows are cut at a width that a screen
// shows; a note says how much is missing, since a silent cut would pass for the cluster.
#include "services/network/topology/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <numbers>
#include <vector>

#include "services/base/markup.h"
#include "services/base/text.h"

namespace eidolon::network::topology {
namespace {

using base::EscapeMarkup;
using base::StrCat;

std::string Gigabytes(std::uint64_t rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB/s", static_cast<double>(rate) * 1e-9);
  return text;
}

struct Point {
  double x = 0, y = 0;
};

constexpr double kWidth = 1200;
constexpr double kRowHeight = 150;
constexpr std::size_t kRowMax = 64;

bool IsServer(const std::string& name) { return name.starts_with("server "); }

class Picture {
 public:
  explicit Picture(std::vector<Fabric::Edge> edges) : edges_(std::move(edges)) {
    for (const Fabric::Edge& edge : edges_) {
      Meet(edge.from);
      Meet(edge.to);
      neighbours_[edge.from].push_back(edge.to);
      neighbours_[edge.to].push_back(edge.from);
      direct_ = direct_ || (IsServer(edge.from) && IsServer(edge.to));
    }
    direct_ ? LayInCircle() : LayInRows();
  }

  std::string Svg(const std::string& title) const {
    std::string svg = StrCat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", height_,
        "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n<text x=\"20\" y=\"24\" font-size=\"16\">",
        EscapeMarkup(title), "</text>\n");
    for (const Fabric::Edge& edge : edges_) svg += Line(edge);
    for (const std::string& name : order_) {
      if (places_.contains(name)) svg += Box(name);
    }
    return svg + notes_ + "</svg>\n";
  }

 private:
  void Meet(const std::string& name) {
    if (neighbours_.try_emplace(name).second) order_.push_back(name);
  }

  void LayInCircle() {
    const std::size_t shown = std::min<std::size_t>(order_.size(), 2 * kRowMax);
    height_ = 900;
    for (std::size_t at = 0; at < shown; ++at) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(at) / static_cast<double>(shown);
      places_[order_[at]] = {kWidth / 2 + 400 * std::sin(angle), 470 - 400 * std::cos(angle)};
    }
    Note(order_.size() - shown, 880);
  }

  // Rows by distance from the servers, which lie at the bottom.
  void LayInRows() {
    std::map<std::string, std::size_t> distance;
    std::deque<std::string> reached;
    for (const std::string& name : order_) {
      if (!IsServer(name)) continue;
      distance[name] = 0;
      reached.push_back(name);
    }
    while (!reached.empty()) {
      const std::string name = reached.front();
      reached.pop_front();
      for (const std::string& other : neighbours_[name]) {
        if (distance.try_emplace(other, distance[name] + 1).second) reached.push_back(other);
      }
    }
    std::map<std::size_t, std::vector<std::string>> rows;
    for (const std::string& name : order_) rows[distance[name]].push_back(name);
    height_ = kRowHeight * static_cast<double>(rows.size()) + 60;
    for (const auto& [row, names] : rows) {
      const std::size_t shown = std::min(names.size(), kRowMax);
      const double y = height_ - 60 - kRowHeight * static_cast<double>(row);
      for (std::size_t at = 0; at < shown; ++at) {
        places_[names[at]] = {kWidth * (static_cast<double>(at) + 0.5) / static_cast<double>(shown),
                              y};
      }
      Note(names.size() - shown, y + 34);
    }
  }

  void Note(std::size_t left_out, double y) {
    if (left_out == 0) return;
    notes_ +=
        StrCat("<text x=\"", kWidth - 160, "\" y=\"", y, "\">and ", left_out, " more</text>\n");
  }

  std::string Line(const Fabric::Edge& edge) const {
    const auto from = places_.find(edge.from);
    const auto to = places_.find(edge.to);
    if (from == places_.end() || to == places_.end()) return "";
    const double width =
        std::clamp(std::log10(static_cast<double>(edge.capacity) * 1e-9 + 1), 0.4, 5.0);
    return StrCat("<line x1=\"", from->second.x, "\" y1=\"", from->second.y, "\" x2=\"",
                  to->second.x, "\" y2=\"", to->second.y, "\" stroke=\"#8aa\" stroke-width=\"",
                  width, "\"><title>", EscapeMarkup(edge.from), " - ", EscapeMarkup(edge.to), ": ",
                  Gigabytes(edge.capacity), "</title></line>\n");
  }

  std::string Box(const std::string& name) const {
    const Point& at = places_.at(name);
    const bool crowded = places_.size() > 40;
    const double half = crowded ? 8 : 34;
    std::string svg =
        StrCat("<rect x=\"", at.x - half, "\" y=\"", at.y - 11, "\" width=\"", 2 * half,
               "\" height=\"22\" rx=\"4\" fill=\"", IsServer(name) ? "#dfe8f5" : "#f5e6c8",
               "\" stroke=\"#567\"><title>", EscapeMarkup(name), "</title></rect>\n");
    if (!crowded) {
      svg += StrCat("<text x=\"", at.x, "\" y=\"", at.y + 4, "\" text-anchor=\"middle\">",
                    EscapeMarkup(name), "</text>\n");
    }
    return svg;
  }

  std::vector<Fabric::Edge> edges_;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<std::string>> neighbours_;
  std::map<std::string, Point> places_;
  std::string notes_;
  double height_ = 0;
  bool direct_ = false;
};

std::string Title(const Cluster& cluster) {
  return StrCat(cluster.name, ": ", cluster.servers, " servers of ", cluster.gpus_per_server, " ",
                cluster.gpu, ", ", cluster.fabric.empty() ? "none" : cluster.fabric);
}

}  // namespace

std::string Describe(const Topology& topology) {
  const Cluster& cluster = topology.wiring().cluster;
  std::string text = StrCat(Title(cluster), "\n");
  if (cluster.servers_per_domain > 1) {
    text += StrCat("  NVLink domains of ", cluster.servers_per_domain, " servers\n");
  }
  struct Tier {
    std::uint64_t links = 0, least = ~std::uint64_t{0}, most = 0;
    double sum = 0;
  };
  std::vector<std::pair<std::string, Tier>> tiers;
  for (LinkIndex link = 0; link < topology.LinkCount(); ++link) {
    const std::string name(topology.TierOf(link));
    if (tiers.empty() || tiers.back().first != name) tiers.emplace_back(name, Tier{});
    Tier& tier = tiers.back().second;
    const std::uint64_t capacity = topology.Capacities()[link];
    ++tier.links;
    tier.least = std::min(tier.least, capacity);
    tier.most = std::max(tier.most, capacity);
    tier.sum += static_cast<double>(capacity);
  }
  for (const auto& [name, tier] : tiers) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-8s %8llu links of %s%s%s, %.1f TB/s together\n",
                  name.c_str(), static_cast<unsigned long long>(tier.links),
                  Gigabytes(tier.least).c_str(), tier.least == tier.most ? "" : " to ",
                  tier.least == tier.most ? "" : Gigabytes(tier.most).c_str(), tier.sum * 1e-12);
    text += line;
  }
  const Place first{0, 0};
  const Place last{cluster.servers - 1, cluster.gpus_per_server - 1};
  if (first == last) return text;
  text += "  from the first GPU to the last:";
  const Route route = topology.Between(first, last);
  for (LinkIndex link : route.Links()) text += StrCat("\n    ", topology.LinkName(link));
  return text + "\n";
}

std::string Draw(const Topology& topology) {
  std::vector<Fabric::Edge> edges = topology.fabric().Edges();
  if (edges.empty()) {
    const Cluster& cluster = topology.wiring().cluster;
    const bool domain = cluster.servers_per_domain > 1;
    for (std::uint32_t at = 0; at < (domain ? cluster.servers : cluster.gpus_per_server); ++at) {
      edges.push_back({StrCat(domain ? "server " : "server 0, GPU ", at),
                       topology.wiring().nvlink ? "NVSwitch" : "host bridge",
                       topology.wiring().gpu_rate});
    }
  }
  return Picture(std::move(edges)).Svg(Title(topology.wiring().cluster));
}

}  // namespace eidolon::network::topology
