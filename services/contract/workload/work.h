// Work definitions: what a launch executes, without device addresses, so that equal work has equal
// bytes and can be interned by the shim and cached by the agent. The same bytes travel from the
// shim through the agent to the timing service, and lie in recordings.
//
// A definition is the struct of its kind, which starts with a WorkHeader, and a tail. All fields
// are little endian, padding bytes are zero. Words that pointed into emulated device memory are
// blanked: only the lowest 8 bits (the alignment) and kPointerTag remain. A flag is set when it is
// not 0.
#pragma once

#include <cstdint>

#include "services/contract/workload/copy.h"
#include "services/contract/workload/dnn_graph.h"
#include "services/contract/workload/fields.h"
#include "services/contract/workload/gemm.h"
#include "services/contract/workload/kernel.h"
#include "services/contract/workload/library.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

// Grows with every change of the structs below. A reader knows its own layout and the earlier ones:
// new fields go to the end of a struct without a tail, and have their default in a definition that
// is too short for them.
inline constexpr std::uint32_t kLayoutVersion = 1;

// Recordings and messages outlive a build.
static_assert(LayoutHash<Kernel, Gemm, DnnTensor, DnnOperation, DnnGraph, Copy, Library>() ==
                  8590574199304101021u,
              "the layout is another: raise kLayoutVersion");
template <typename... Structs>
inline constexpr bool kTablesAreWhole =
    ((sizeof(WorkHeader) + FieldBytes<Structs>() == sizeof(Structs)) && ...);
static_assert(kTablesAreWhole<Kernel, Gemm, DnnGraph, Copy, Library>);
static_assert(FieldBytes<DnnTensor>() == sizeof(DnnTensor));
static_assert(FieldBytes<DnnOperation>() == sizeof(DnnOperation));

}  // namespace eidolon::workload
