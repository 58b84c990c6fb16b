// The kinds of networks, by name, each made by its own file.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/error.h"
#include "services/network/topology/fabric.h"

namespace eidolon::network::topology {

using FabricResult = base::Result<std::shared_ptr<const Fabric>>;

// Knows cluster::FabricKinds() and none. Fails with a sentence that names the field when the
// description makes no sense for this size.
FabricResult MakeFabric(const FabricSpec& spec, const FabricSize& size);

// Fails as MakeFabric does; in a time that grows with the description alone.
base::Result<void> CheckFabric(const FabricSpec& spec, const FabricSize& size);

// The kinds. Requires of all: at least two servers and one rail; what else is wrong is told.

// One leaf for each rail of a group of servers; leaves meet in spines.
FabricResult MakeRailOptimised(const FabricSpec& spec, const FabricSize& size);
// All NICs of a few servers on one leaf; leaves meet in spines.
FabricResult MakeLeafSpine(const FabricSpec& spec, const FabricSize& size);
// The same with a tier more: leaves meet in pods, pods in a core.
FabricResult MakeFatTree(const FabricSpec& spec, const FabricSize& size);
// Routers of a group all know each other, and groups do; routes are minimal.
FabricResult MakeDragonfly(const FabricSpec& spec, const FabricSize& size);
// Servers on a grid that closes in each dimension; one dimension is crossed after another.
FabricResult MakeTorus(const FabricSpec& spec, const FabricSize& size);
// Switches and cables as listed; shortest ways, equal ones by hash.
FabricResult MakeGraph(const FabricSpec& spec, const FabricSize& size);
// Fails as MakeGraph does, but looks for no ways: in walks over the whole graph, whose number it
// answers, one unless NICs are very far apart.
base::Result<std::uint32_t> CheckGraph(const FabricSpec& spec, const FabricSize& size);

}  // namespace eidolon::network::topology
