// What a mixture-of-experts router would have chosen, from its declaration: made up, the same for
// the same seed, rank and call, and consistent, whoever looks: every token chooses different
// experts, and the counts of all experts add up to tokens x top_k.
#pragma once

#include <cstdint>
#include <vector>

#include "services/contract/ring/declaration.h"

namespace eidolon::shim::value {

// Identifies a draw: the rank, and the number of the router's call, from 0.
struct RoutingDraw {
  std::uint64_t rank = 0;
  std::uint64_t call = 0;
};

// tokens x top_k numbers of experts, token after token. Requires: the declaration is of a routing,
// within the limits of ParseDeclarations.
std::vector<std::uint32_t> DrawIndices(const ring::Declaration& routing, const RoutingDraw& draw);

// How many tokens each expert gets, at most all of them: by the shares, without noise; what is left
// over goes to experts drawn at random.
std::vector<std::uint64_t> DrawCounts(const ring::Declaration& routing, const RoutingDraw& draw);

}  // namespace eidolon::shim::value
