// The bytes every rank receives from a collective whose inputs are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/network/communicator/operation.h"

namespace eidolon::network::communicator {

// A rank's input; nothing when it is not known.
using Payload = std::optional<std::string>;

// True when a collective is small enough to have values, known or not.
bool CarriesValues(const Operation& operation, std::size_t ranks);

// The results of the ranks `of`, in their order; nothing where it cannot be known. Ranks that
// receive nothing (not the root of a reduce or gather) get known empty bytes. Takes the inputs of
// all ranks, and makes no result but those asked for: the parts of 16,384 ranks for each of them
// would be gigabytes. Requires: operation passed Check for this many ranks and is not point to
// point.
std::vector<Payload> ResultsOf(const Operation& operation, std::span<const Payload> inputs,
                               std::span<const std::int32_t> of);

}  // namespace eidolon::network::communicator
