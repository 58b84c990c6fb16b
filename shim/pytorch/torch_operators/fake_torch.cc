// Answers as PyTorch does.
#include "shim/pytorch/torch_operators/fake_torch.h"

std::optional<at::StepCallbacks> at::getStepCallbacksUnlessEmpty(RecordScope scope) {
  if (scope == RecordScope::kFunction) return std::nullopt;
  return StepCallbacks{.numbers = std::vector<int>(100, 7), .scope = scope};
}
