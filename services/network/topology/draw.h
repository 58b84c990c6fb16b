// A cluster's network for people: a summary in words, and a picture.
#pragma once

#include <string>

#include "services/network/topology/topology.h"

namespace eidolon::network::topology {

// Servers, their GPUs and NICs, and every tier of links with its count and capacity.
std::string Describe(const Topology& topology);

// An SVG: servers at the bottom, switches above them by their distance from servers; networks whose
// servers are neighbours (a torus) in a circle. At most 64 nodes of a row are drawn, the picture
// says how many are left out.
std::string Draw(const Topology& topology);

}  // namespace eidolon::network::topology
