// Fuzzes descriptions of clusters, and builds and draws the small ones that are accepted.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/network/topology/document.h"
#include "services/network/topology/draw.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::network::topology;
  const auto cluster = ParseCluster({reinterpret_cast<const char*>(data), size});
  if (!cluster || std::uint64_t{cluster->servers} * cluster->gpus_per_server > 4096) return 0;
  const auto topology = Topology::Make(*cluster);
  if (!topology) return 0;
  Describe(*topology);
  Draw(*topology);
  return 0;
}
