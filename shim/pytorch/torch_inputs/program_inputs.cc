// A module's call is seen where Module._call_impl begins. Its caller, Module._wrapped_call_impl, is
// the thread's current frame then, and has the arguments in `self`, `args` and `kwargs`. Only the
// outermost call of a thread counts, of a module that is being trained, while gradients are wanted.
#include "shim/pytorch/torch_inputs/program_inputs.h"

#include "services/contract/ring/program_inputs.h"
#include "shim/core/frame_count.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/pytorch/torch_inputs/module_input.h"
#include "shim/pytorch/torch_inputs/python_objects.h"

namespace eidolon::shim::torch_inputs {
namespace {

struct ThreadCalls {
  int depth = 0;           // Of module calls within each other.
  bool is_told = false;    // The outermost one was reported.
  void* loader = nullptr;  // Whose function for the next batch runs.
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCalls thread_calls{};

void Tell(ring::InputKind kind, const void* source, std::uint64_t samples, std::uint64_t tokens) {
  auto* const session = core::Session::Existing();
  if (session == nullptr || core::IsTearingDown()) return;
  ring::InputsRecord record{};
  record.header.kind = ring::RecordKind::kInputs;
  record.source = reinterpret_cast<std::uintptr_t>(source);
  record.samples = samples;
  record.tokens = tokens;
  record.kind = kind;
  core::Append(*session, record);
}

bool WantsGradients(const Python& python) {
  const Reference function(python, python.attribute(python.module("torch"), "is_grad_enabled"));
  if (!function) return false;
  const Reference answer(python, python.call(function.get(), nullptr));
  return answer && python.is_true(answer.get()) == 1;
}

void BeginModuleCall() {
  ThreadCalls& calls = thread_calls;
  if (calls.depth++ != 0) return;
  calls.is_told = false;
  const Python* const python = FindPython();
  void* const frame = python == nullptr ? nullptr : python->current_frame();
  if (frame == nullptr || core::Session::Existing() == nullptr) return;
  const Reference module = VariableOf(*python, frame, "self");
  const Reference arguments = VariableOf(*python, frame, "args");
  const Reference named = VariableOf(*python, frame, "kwargs");
  if (!module || !arguments || !named || !HasType(*python, arguments.get(), python->tuple_type) ||
      !HasType(*python, named.get(), python->dict_type)) {
    return;
  }
  void* const training = FieldOf(*python, module.get(), "training");
  if (training == nullptr || python->is_true(training) != 1 || !WantsGradients(*python)) return;
  const ModuleInput input = InputOf(*python, module.get(), arguments.get(), named.get());
  calls.is_told = true;
  Tell(ring::InputKind::kCall, module.get(), input.samples, input.tokens);
}

void EndModuleCall() {
  ThreadCalls& calls = thread_calls;
  if (--calls.depth != 0 || !calls.is_told) return;
  Tell(ring::InputKind::kCallEnd, nullptr, 0, 0);
}

void BeginNextIndex() {
  const Python* const python = FindPython();
  void* const frame = python == nullptr ? nullptr : python->current_frame();
  thread_calls.loader = frame == nullptr ? nullptr : VariableOf(*python, frame, "self").get();
}

// A loader that leaves batches to its data set has no list of indices.
void EndNextIndex(void* indices) {
  const Python* const python = FindPython();
  if (python == nullptr || indices == nullptr || thread_calls.loader == nullptr) return;
  const std::ptrdiff_t size =
      HasType(*python, indices, python->list_type) || HasType(*python, indices, python->tuple_type)
          ? python->size(indices)
          : 0;
  Tell(ring::InputKind::kBatch, thread_calls.loader, static_cast<std::uint64_t>(size), 0);
}

void Begin(std::uint8_t function) {
  switch (static_cast<Function>(function)) {
    case Function::kModuleCall:
      return BeginModuleCall();
    case Function::kNextIndex:
      return BeginNextIndex();
    case Function::kContextParallel:
      return Tell(ring::InputKind::kSharedSequences, nullptr, 0, 0);
    case Function::kNone:
      break;
  }
}

void End(std::uint8_t function, void* result) {
  if (function == static_cast<std::uint8_t>(Function::kModuleCall)) EndModuleCall();
  if (function == static_cast<std::uint8_t>(Function::kNextIndex)) EndNextIndex(result);
}

}  // namespace

Function FunctionOf(std::string_view file, std::string_view name) {
  if (name == "_call_impl" && file.ends_with("/torch/nn/modules/module.py")) {
    return Function::kModuleCall;
  }
  // PyTorch's own loader has it, and torchdata's, which can be resumed.
  if (name == "_next_index" && file.ends_with("dataloader.py")) return Function::kNextIndex;
  // PyTorch has the first one, Transformer Engine the second.
  if (name == "context_parallel" || name == "attn_forward_func_with_cp") {
    return Function::kContextParallel;
  }
  return Function::kNone;
}

void ObserveInputs() noexcept {
  static constexpr core::FrameObserver kObserver = {
      .choose =
          [](std::string_view file, std::string_view name) {
            return static_cast<std::uint8_t>(FunctionOf(file, name));
          },
      .begin = Begin,
      .end = End};
  core::ObserveFrames(&kObserver);
}

}  // namespace eidolon::shim::torch_inputs
