#include "services/network/topology/fabric.h"

#include <algorithm>

namespace eidolon::network::topology {

std::uint32_t SpreadHash(Port from, Port to, std::uint32_t pair) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::uint32_t part : {from.server, from.rail, to.server, to.rail, pair}) {
    hash = (hash ^ part) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 33;
  }
  return static_cast<std::uint32_t>(hash >> 16);
}

std::uint64_t SummedCapacity(std::uint64_t rate, double count, double oversubscription) {
  const double summed = static_cast<double>(rate) * count / oversubscription;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(summed));
}

}  // namespace eidolon::network::topology
