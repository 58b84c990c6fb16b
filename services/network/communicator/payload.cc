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

Results OnlyRoot(std::size_t ranks, std::size_t root, Payload result) {
  Results results(ranks, Payload(std::string()));
  results[root] = std::move(result);
  return results;
}

Results AllToAll(const Views& views) {
  const std::size_t ranks = views.size();
  Results results(ranks);
  if (views[0].size() % ranks != 0) return results;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    results[rank].emplace();
    for (std::string_view view : views) *results[rank] += PartOf(view, rank, ranks);
  }
  return results;
}

Results Parts(const Payload& buffer, std::size_t ranks) {
  Results results(ranks);
  if (!buffer || buffer->size() % ranks != 0) return results;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    results[rank] = std::string(PartOf(*buffer, rank, ranks));
  }
  return results;
}

}  // namespace

bool CarriesValues(const Operation& operation, std::size_t ranks) {
  const bool whole = operation.kind == Kind::kAllReduce || operation.kind == Kind::kBroadcast ||
                     operation.kind == Kind::kReduce;
  return operation.bytes <= ValueBytesMax(operation) * (whole ? 1 : ranks);
}

std::vector<Payload> ResultsOf(const Operation& operation, std::span<const Payload> inputs) {
  const std::size_t ranks = inputs.size();
  const auto root = static_cast<std::size_t>(std::max(operation.root, 0));
  if (operation.kind == Kind::kBroadcast) return Results(ranks, inputs[root]);
  if (operation.kind == Kind::kScatter) return Parts(inputs[root], ranks);

  const auto views = AllInputs(inputs);
  const bool rooted = operation.kind == Kind::kReduce || operation.kind == Kind::kGather;
  if (!views) return rooted ? OnlyRoot(ranks, root, std::nullopt) : Results(ranks);
  switch (operation.kind) {
    case Kind::kAllReduce:
      return Results(ranks, Combine(operation.data_type, operation.reduction, *views));
    case Kind::kReduceScatter:
      return Parts(Combine(operation.data_type, operation.reduction, *views), ranks);
    case Kind::kReduce:
      return OnlyRoot(ranks, root, Combine(operation.data_type, operation.reduction, *views));
    case Kind::kAllGather:
      return Results(ranks, Concatenate(*views));
    case Kind::kGather:
      return OnlyRoot(ranks, root, Concatenate(*views));
    case Kind::kAllToAll:
      return AllToAll(*views);
    default:
      return Results(ranks);
  }
}

}  // namespace eidolon::network::communicator
