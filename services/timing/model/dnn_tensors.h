// Reading a cuDNN graph: its tensors by identifier, and their sizes. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::model {

double Elements(const kernel::DnnTensor& tensor);
// A size of at least 1, also where the tensor has fewer dimensions.
double Dim(const kernel::DnnTensor& tensor, std::size_t index);

// Null when the operation has fewer, or names a tensor that the graph does not hold.
const kernel::DnnTensor* Input(const kernel::DnnGraph& graph, const kernel::DnnOperation& op,
                               std::size_t index);
const kernel::DnnTensor* Output(const kernel::DnnGraph& graph, const kernel::DnnOperation& op);

// Returns the bytes of all tensors in device memory, each once.
double MemoryBytes(const kernel::DnnGraph& graph);

// Channels are not what lies next to each other in memory: [N, C, ...] as PyTorch makes it.
bool IsChannelsFirst(const kernel::DnnTensor& tensor);

}  // namespace eidolon::timing::model
