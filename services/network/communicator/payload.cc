// Programs read small results back (a loss, a norm, the size of a pickled object), so small
// collectives carry real bytes. An input that is not known makes the result unknown, except where a
// root alone decides (broadcast, scatter): a wrong value would send the program down another
// branch. CarriesValues looks at the operation alone, so it gives the same answer for every member,
// and each member gets a notice even when nothing is known.
#include "services/network/communicator/payload.h"

#include <algorithm>
#include <string_view>

#include "services/network/communicator/reduction.h"

namespace eidolon::network::communicator {
namespace {

using Views = std::vector<std::string_view>;

// All inputs, when all are known and of one size.
std::optional<Views> AllInputs(std::span<const Payload> inputs) {
  Views views;
  for (const Payload& input : inputs) {
    if (!input || input->size() != inputs.front()->size()) return std::nullopt;
    views.push_back(*input);
  }
  return views;
}

std::string Concatenate(const Views& views) {
  std::string all;
  for (std::string_view view : views) all += view;
  return all;
}

// The rank's part of a buffer that holds one part a rank.
std::string_view PartOf(std::string_view buffer, std::size_t rank, std::size_t ranks) {
  const std::size_t part = buffer.size() / ranks;
  return buffer.substr(rank * part, part);
}

using Results = std::vector<Payload>;
using Ranks = std::span<const std::int32_t>;

Results OnlyRoot(Ranks of, std::int32_t root, const Payload& result) {
  Results results;
  for (const std::int32_t rank : of) results.push_back(rank == root ? result : std::string());
  return results;
}

Results AllToAll(Ranks of, const Views& views) {
  const std::size_t ranks = views.size();
  Results results(of.size());
  if (views[0].size() % ranks != 0) return results;
  for (std::size_t at = 0; at < of.size(); ++at) {
    results[at].emplace();
    for (std::string_view view : views) {
      *results[at] += PartOf(view, static_cast<std::size_t>(of[at]), ranks);
    }
  }
  return results;
}

Results Parts(Ranks of, const Payload& buffer, std::size_t ranks) {
  Results results(of.size());
  if (!buffer || buffer->size() % ranks != 0) return results;
  for (std::size_t at = 0; at < of.size(); ++at) {
    results[at] = std::string(PartOf(*buffer, static_cast<std::size_t>(of[at]), ranks));
  }
  return results;
}

}  // namespace

bool CarriesValues(const Operation& operation, std::size_t ranks) {
  const bool whole = operation.kind == Kind::kAllReduce || operation.kind == Kind::kBroadcast ||
                     operation.kind == Kind::kReduce;
  if (operation.bytes <= ValueBytesMax(operation) * (whole ? 1 : ranks)) return true;
  // Members that give nothing wait for what the root may give.
  const bool is_given = operation.kind == Kind::kBroadcast || operation.kind == Kind::kScatter;
  return is_given && operation.bytes <= kValueBytesLimit;
}

std::vector<Payload> ResultsOf(const Operation& operation, std::span<const Payload> inputs,
                               Ranks of) {
  const std::size_t ranks = inputs.size();
  const std::int32_t root = std::max(operation.root, 0);
  const Payload& given = inputs[static_cast<std::size_t>(root)];
  if (operation.kind == Kind::kBroadcast) return Results(of.size(), given);
  if (operation.kind == Kind::kScatter) return Parts(of, given, ranks);

  const auto views = AllInputs(inputs);
  const bool rooted = operation.kind == Kind::kReduce || operation.kind == Kind::kGather;
  if (!views) return rooted ? OnlyRoot(of, root, std::nullopt) : Results(of.size());
  switch (operation.kind) {
    case Kind::kAllReduce:
      return Results(of.size(), Combine(operation.data_type, operation.reduction, *views));
    case Kind::kReduceScatter:
      return Parts(of, Combine(operation.data_type, operation.reduction, *views), ranks);
    case Kind::kReduce:
      return OnlyRoot(of, root, Combine(operation.data_type, operation.reduction, *views));
    case Kind::kAllGather:
      return Results(of.size(), Concatenate(*views));
    case Kind::kGather:
      return OnlyRoot(of, root, Concatenate(*views));
    case Kind::kAllToAll:
      return AllToAll(of, *views);
    default:
      return Results(of.size());
  }
}

}  // namespace eidolon::network::communicator
