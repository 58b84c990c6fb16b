// A library that asks and answers as PyTorch's does.
#include <cstdint>
#include <optional>
#include <vector>

namespace at {

enum class RecordScope : std::uint8_t { kFunction = 0, kBackward = 1 };

struct StepCallbacks {
  std::vector<int> numbers;
  RecordScope scope;
};

std::optional<StepCallbacks> getStepCallbacksUnlessEmpty(RecordScope scope) {
  if (scope == RecordScope::kFunction) return std::nullopt;
  return StepCallbacks{.numbers = std::vector<int>(100, 7), .scope = scope};
}

}  // namespace at

// The sum of what observes a scope; -1: nothing does.
int Observed(int scope) {
  const auto found = at::getStepCallbacksUnlessEmpty(static_cast<at::RecordScope>(scope));
  if (!found.has_value()) return -1;
  int sum = static_cast<int>(found->scope);
  for (const int number : found->numbers) sum += number;
  return sum;
}
