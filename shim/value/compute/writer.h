// Who is to be named for what a launch left unknown.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/value/compute/launch_pointers.h"
#include "shim/value/compute/learning.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

struct Writer {
  value::Author author = value::kNobody;
  bool only_sorts = false;  // What is there stays by whoever wrote it, in another order.
};
// Notes who wrote behind the pointers of these numbers. `ranges`, if given: only behind those that
// lead closest to one of them.
void NoteAuthor(const std::vector<std::uint32_t>& written, const LaunchPointers& pointers,
                const Writer& writer, value::Store& store,
                const std::vector<Arena::Range>* ranges = nullptr);

}  // namespace eidolon::shim::compute
