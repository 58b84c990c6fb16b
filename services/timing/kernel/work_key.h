// The identity of a work item: equal work has equal keys in every process and version of one
// schema. Profiles are stored under it, so the byte form below must not change without a new
// kSchema.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/hash.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// Counts changes of the byte form. Profiles of another schema are not read.
inline constexpr int kSchema = 2;

// All fields that decide the duration, little endian, in a fixed order. Strings carry their length.
std::string CanonicalBytes(const WorkItem& item);

base::Digest WorkKey(const WorkItem& item);

// The item without what scales its size: items of one class lie on one curve of duration over size.
// Kernels: function, block and module; GEMM: all but m; copies: kind and pinning.
base::Digest ClassKey(const WorkItem& item);

}  // namespace eidolon::timing::kernel
