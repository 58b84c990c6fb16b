// Python objects that ranks tell each other, as pickles of protocols 2 to 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "services/contract/folding/twins.h"

namespace eidolon::folding {

// Returns what `rank` gives when two live members give pickles of one form, whose integers, and
// numbers within texts, go on in equal steps from rank to rank. Bytes behind the end of a pickle do
// not count; the answer ends with it. Nothing when one of them is not a pickle, they differ in
// anything else, or the steps are not whole numbers.
std::optional<std::string> GoOnInPickle(const LiveValue& a, const LiveValue& b, std::int32_t rank);

}  // namespace eidolon::folding
