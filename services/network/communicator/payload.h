// The bytes every rank receives from a collective whose inputs are known.
#pragma once

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

// Each rank's result, in rank order; nothing where it cannot be known. Ranks that receive nothing
// (not the root of a reduce or gather) get known empty bytes. Requires: operation passed Check for
// this many ranks and is not point to point.
std::vector<Payload> ResultsOf(const Operation& operation, std::span<const Payload> inputs);

}  // namespace eidolon::network::communicator
