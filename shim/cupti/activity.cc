#include "shim/cupti/activity.h"

#include <array>
#include <vector>

namespace eidolon::shim::cupti::activity {
namespace {

using Stack = std::vector<std::uint64_t>;

Stack* StackOf(CUpti_ExternalCorrelationKind kind) {
  static thread_local std::array<Stack, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> stacks;
  const auto index = static_cast<std::size_t>(kind);
  return index == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || index >= stacks.size()
             ? nullptr
             : &stacks[index];
}

}  // namespace

CUptiResult GetNextRecord(std::uint8_t* buffer, std::size_t, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

CUptiResult GetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult PushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  Stack* stack = StackOf(kind);
  if (stack == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  stack->push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult PopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last_id) {
  Stack* stack = StackOf(kind);
  if (stack == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (stack->empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last_id != nullptr) *last_id = stack->back();
  stack->pop_back();
  return CUPTI_SUCCESS;
}

}  // namespace eidolon::shim::cupti::activity
