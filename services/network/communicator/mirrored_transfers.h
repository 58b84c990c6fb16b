// Sends and receives of mirrored ranks with live members. A mirrored rank does what the live member
// that it mirrors does, moved by the distance between the two: where rank 0 sends to rank 1 and
// receives from rank 7 of a ring of 8, mirrored rank 1 receives from rank 0 and mirrored rank 6
// sends to a live rank 7.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/network/communicator/mirrored_ranks.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/payload.h"
#include "services/network/communicator/transfer_table.h"

namespace eidolon::network::communicator {

// Transfers of one mirrored rank in the group of the member that it mirrors.
struct MirroredGroup {
  std::int32_t rank = 0;
  Operation operation;
  Payload payload;  // Its sends' bytes, one after another.
};

// A mirrored rank to which `rank` sends, or from which it receives, although that is not a step of
// a ring: the two are not alike. Nothing when there is none.
std::optional<std::int32_t> FindUnlike(const MirroredRanks& mirrored_ranks, std::int32_t rank,
                                       const Operation& operation);

// Returns by what the members `rank` and `peer` of a communicator of these global ranks differ:
// their position in the communicator when it is a row of the program's mesh (a pipeline's stages);
// else, in a pair or in a communicator of the whole job, the distance between the two taken for a
// step of the mesh; each rank by itself when that distance does not divide the job. A pair among
// many is first taken for a row of two (context parallelism of two ranks), unless that is `known`
// and did not suffice.
std::vector<folding::Dimension> DifferenceOf(std::span<const std::uint32_t> members,
                                             std::int32_t rank, std::int32_t peer,
                                             std::uint32_t job_ranks,
                                             std::span<const folding::Dimension> known = {});

// Of the mirrored ranks that mirror `rank`: their transfers with live members, by mirrored rank, in
// order; those between two mirrored ranks need not be. `rank` calls `operation` with `payload`.
// Only steps of a ring are mirrored: what goes to one distance comes from the opposite one in the
// same group. Where ranks only send, or only answer, as in a pipeline, they are not alike, whatever
// class they were put in.
std::vector<MirroredGroup> MirroredGroupsOf(const MirroredRanks& mirrored_ranks, std::int32_t rank,
                                            const Operation& operation, const Payload& payload);

}  // namespace eidolon::network::communicator
