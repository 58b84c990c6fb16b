// Checks whether the descriptors of a cuDNN graph can be played, and the tensors that this takes.
// Refused is what the descriptors do not tell although the time depends on it, and what makes no
// sense: the library is not asked about those.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::replay {

// A tensor that the program hands over at execution.
struct GraphTensor {
  std::uint32_t type = 0;  // cudaDataType_t.
  base::Wide elements = 0;
  bool by_value = false;
  std::string value;  // By value: its bytes, where they are known.
};

// Returns the tensors by identifier. Refuses, with the reason: descriptors that are missing or
// damaged; kinds of descriptors that no attention, normalisation, or pointwise graph has; whole
// numbers in memory that a graph reads (lengths of sequences, page tables, block masks), but for
// the seeds of dropout; ragged tensors; reordered and vectorised ones.
base::Result<std::map<std::int64_t, GraphTensor>> CheckGraph(const kernel::DnnGraph& graph);

}  // namespace eidolon::timing::replay
