// Work definitions of the ring as the timing service wants them.
#pragma once

#include <cstddef>
#include <span>

namespace eidolon::timing::v1 {
class WorkItem;
}

namespace eidolon::agent {

// Requires: ring::CheckDefinition passed; 8-byte aligned.
void FillWorkItem(std::span<const std::byte> definition, timing::v1::WorkItem* item);

}  // namespace eidolon::agent
