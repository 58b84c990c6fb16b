// Sentences about what a job waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/network/communicator/collective_table.h"
#include "services/network/communicator/gathering.h"
#include "services/network/communicator/transfer_table.h"

namespace eidolon::network::communicator {

// "communicator 'dp' of 8 ranks", "communicator 12884901889 of 2 ranks".
std::string NameOf(std::uint64_t id, const std::string& name, std::size_t size);

// "rank 3", "ranks 0-2, 5": global ranks of members.
std::string NameRanks(const std::vector<Member>& members, const std::vector<std::int32_t>& ranks);

// One line each.
std::string Describe(const CollectiveTable::Incomplete& incomplete,
                     const std::vector<Member>& members);
std::string Describe(const TransferTable::Incomplete& incomplete,
                     const std::vector<Member>& members);
// A communicator that is being made: `what` is "ncclCommInitRank" or "ncclCommSplit"; `members` are
// the parent's and may be empty.
std::string Describe(const std::string& what, const Gathering& gathering,
                     const std::vector<Member>& members);

}  // namespace eidolon::network::communicator
