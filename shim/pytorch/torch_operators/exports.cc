// PyTorch asks before each operator that it dispatches, and each node of a backward pass, whether
// somebody observes it, by a function of libtorch_cpu.so. This one stands before it: it counts the
// thread's operators, by which the fixed host model knows how much of the framework ran before a
// call (core/rank_clock.h), and passes the question on. A question costs 2 ns more. The first one
// begins the observation of what the program gives to its models (torch_inputs).
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "services/base/check.h"
#include "shim/core/operator_count.h"
#include "shim/pytorch/torch_inputs/program_inputs.h"

namespace at {

enum class RecordScope : std::uint8_t {};

// Stands for what PyTorch returns, a std::optional of several hundred bytes. Neither is trivially
// destructible, so that both are returned by an address that the caller gives; PyTorch's function
// fills what lies there, and nothing is copied.
class Observers {
 public:
  ~Observers();

 private:
  void* first_;
};

__attribute__((visibility("default"))) Observers getStepCallbacksUnlessEmpty(RecordScope scope);

}  // namespace at

namespace {

constexpr char kName[] = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";

using Question = decltype(&at::getStepCallbacksUnlessEmpty);

constinit std::atomic<Question> pytorchs_own{nullptr};

[[gnu::noinline, gnu::cold]] Question FindPytorchsOwn(const void* caller) {
  Dl_info info{};
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr && dladdr(caller, &info) != 0) {
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  const auto own = library == nullptr ? nullptr : reinterpret_cast<Question>(dlsym(library, kName));
  // Whoever asks has a PyTorch that answers.
  CHECK(own != nullptr && own != &at::getStepCallbacksUnlessEmpty);
  eidolon::shim::torch_inputs::ObserveInputs();
  pytorchs_own.store(own, std::memory_order_relaxed);
  return own;
}

}  // namespace

at::Observers at::getStepCallbacksUnlessEmpty(RecordScope scope) {
  eidolon::shim::core::CountOperator();
  Question own = pytorchs_own.load(std::memory_order_relaxed);
  if (own == nullptr) own = FindPytorchsOwn(__builtin_return_address(0));
  return own(scope);
}
