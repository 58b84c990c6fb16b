// Derives the input of every member of a group to a collective of Gloo when only live members have
// sent theirs.
//
// Mirrored ranks follow the rules of NCCL's collectives
// (services/network/communicator/mirrored_ranks.h). Gloo is not told of what type the elements are,
// only how wide. Two that differ are taken for integers where the bits cannot be those of a normal
// floating-point number: integers that count are small. Single bytes may be a pickled object, whose
// integers and numbered texts go on in steps as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "services/contract/folding/twins.h"

namespace eidolon::shim::gloo {

// Bytes by member of the group.
using ByRank = std::map<std::int32_t, std::string>;

// Inputs of one collective; not thread-safe.
class Inputs {
 public:
  // `live`: of all live members that give something. Keeps the twins.
  Inputs(const folding::Twins& twins, std::size_t element_bytes, ByRank live);

  // They say how long the pickled objects are that follow. Mirrored ranks' may be longer than both
  // that they are made from, and get the room of both: PyTorch takes the longest for all, and reads
  // what is in front.
  void AreSizesOfObjects();

  // Returns what `rank` gives. Valid until the next call. Requires: its twin, or itself, gives
  // something.
  const std::string& Of(std::int32_t rank);
  // The same, cut or filled with zeros to that many bytes.
  const std::string& Of(std::int32_t rank, std::size_t bytes);

  // Returns whether something that was requested follows from no rule, and is that of a live
  // member.
  bool has_guessed() const { return has_guessed_; }

 private:
  const folding::Twins& twins_;
  const std::size_t element_bytes_;
  const ByRank live_;
  std::string made_;  // The last one that was made.
  bool are_sizes_of_objects_ = false;
  bool has_guessed_ = false;
};

}  // namespace eidolon::shim::gloo
