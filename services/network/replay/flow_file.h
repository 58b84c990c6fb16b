// A file of flows over a network given link by link: what benchmarks of flow simulators exchange.
// Text, one record a line, fields separated by one blank:
//
//   V 1 NAME                                  version, name of the workload
//   N NODE NAME DEPTH H|S                     a node: host or switch
//   L CABLE PARENT CHILD BYTES_PER_SECOND     full duplex: link 2 x CABLE goes down, + 1 goes up
//   T 0|1                                     1: the network is a tree
//   R ROUTE FROM TO COUNT LINK...             a route
//   C COUNT                                   how many flows follow
//   F FLOW START_NS BYTES ROUTE COUNT FLOW... starts at START_NS and not before the flows named end
//   # comment
//
// Numbers of nodes, cables, routes and flows are dense from 0; a flow waits for smaller ones only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::network::replay {

struct FlowFile {
  struct Flow {
    std::int64_t start_ps = 0;
    std::uint64_t bytes = 0;
    std::uint32_t route = 0;
    std::uint32_t first_dependency = 0;
    std::uint32_t dependencies = 0;
  };
  std::string name;
  std::vector<std::uint64_t> capacities;  // Bytes per second, by link.
  std::vector<std::uint32_t> route_links;
  std::vector<std::uint32_t> route_begin{0};  // Of route n; one more than there are routes.
  std::vector<Flow> flows;
  std::vector<std::uint32_t> dependencies;

  std::span<const std::uint32_t> LinksOf(std::uint32_t route) const {
    return std::span(route_links)
        .subspan(route_begin[route], route_begin[route + 1] - route_begin[route]);
  }
  std::span<const std::uint32_t> DependenciesOf(const Flow& flow) const {
    return std::span(dependencies).subspan(flow.first_dependency, flow.dependencies);
  }
};

// Fails with a sentence that names the line: unknown records, numbers out of range, links of no
// capacity that a flow needs, routes without links; without a line: another number of flows than
// COUNT.
base::Result<FlowFile> ParseFlowFile(std::string_view text);
base::Result<FlowFile> LoadFlowFile(const std::string& path);

}  // namespace eidolon::network::replay
