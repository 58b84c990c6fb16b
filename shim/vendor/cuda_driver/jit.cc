// Programs read the compiler's log to explain their own failures, so errors and remarks of the
// stock linker go into the buffers that the program gave, and the sizes that were filled go back
// through its array of values, as the driver does: both have to outlive the linkage. The log is
// written after each input and at the end. Which code stands for a failure depends on the input's
// kind. Options that change neither the code nor its log are passed over.
#include "shim/vendor/cuda_driver/jit.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "shim/core/call_scope.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/handle_pool.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::jit {
namespace {

// Object behind a CUlinkState. Of one thread at a time, as the driver's.
struct State {
  static constexpr std::uint32_t kMagic = 0x4c4e4b53;
  std::uint32_t magic = 0;
  std::unique_ptr<const Options> options;
  std::unique_ptr<link::Linkage> linkage;
};

gpu::HandlePool<State>& States() {
  static auto* const states = new gpu::HandlePool<State>;
  return *states;
}

CUresult ToResult(link::Outcome outcome, link::Input kind) {
  switch (outcome) {
    case link::Outcome::kDone:
      return CUDA_SUCCESS;
    case link::Outcome::kNoLinker:
      return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case link::Outcome::kInvalid:
      break;
  }
  return kind == link::Input::kPtx ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
}

std::optional<link::Input> InputOf(CUjitInputType type) {
  switch (type) {
    case CU_JIT_INPUT_CUBIN:
      return link::Input::kCubin;
    case CU_JIT_INPUT_PTX:
      return link::Input::kPtx;
    case CU_JIT_INPUT_FATBINARY:
      return link::Input::kFatBinary;
    case CU_JIT_INPUT_OBJECT:
      return link::Input::kObject;
    case CU_JIT_INPUT_LIBRARY:
      return link::Input::kLibrary;
    default:  // Intermediate code of compilers before CUDA 12, which the driver does not take
              // either.
      return std::nullopt;
  }
}

CUresult Add(State& state, link::Input kind, std::span<const std::byte> bytes,
             const std::string& name) {
  const link::Outcome outcome = state.linkage->Add(kind, bytes, name);
  state.options->Tell(state.linkage->errors(), state.linkage->remarks());
  return ToResult(outcome, kind);
}

}  // namespace

Options::Options(unsigned count, CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  for (unsigned i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
    switch (options[i]) {
      case CU_JIT_MAX_REGISTERS:
        settings_.registers_max = number;
        break;
      case CU_JIT_OPTIMIZATION_LEVEL:
        settings_.optimization = number;
        break;
      case CU_JIT_GENERATE_DEBUG_INFO:
        settings_.debug_info = number != 0;
        break;
      case CU_JIT_GENERATE_LINE_INFO:
        settings_.line_info = number != 0;
        break;
      case CU_JIT_LOG_VERBOSE:
        settings_.verbose = number != 0;
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        remarks_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        remarks_.bytes = number;
        remarks_.filled = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        errors_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        errors_.bytes = number;
        errors_.filled = &values[i];
        break;
      default:  // Others change neither layouts nor, as far as we can tell, times.
        break;
    }
  }
}

void Options::Buffer::Fill(const std::string& said) const {
  std::size_t kept = 0;
  if (text != nullptr && bytes != 0) {
    kept = std::min(said.size(), bytes - 1);
    std::memcpy(text, said.data(), kept);
    text[kept] = '\0';
  }
  if (filled != nullptr) *filled = reinterpret_cast<void*>(kept);
}

void Options::Tell(const std::string& errors, const std::string& remarks) const {
  errors_.Fill(errors);
  remarks_.Fill(remarks);
}

CUresult Create(unsigned count, CUjit_option* options, void** values, CUlinkState* result) {
  if (result == nullptr || (count != 0 && (options == nullptr || values == nullptr))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const gpu::Status status = RequireContext(); status != gpu::Status::kSuccess) {
    return cuda_driver::ToResult(status);
  }
  auto asked = std::make_unique<const Options>(count, options, values);
  const ring::DeviceProperties& device = gpu::PropertiesOf(gpu::CurrentDevice());
  auto linkage = std::make_unique<link::Linkage>(
      cubin::Capability{device.compute_major, device.compute_minor}, asked->settings());
  if (!link::IsThere()) {
    core::CountRefusal("cuLinkCreate(without libnvJitLink)");
    asked->Tell(link::kMissing, "");
    return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  }
  asked->Tell("", "");
  State* const state = States().Take();
  state->options = std::move(asked);
  state->linkage = std::move(linkage);
  state->magic = State::kMagic;
  *result = reinterpret_cast<CUlinkState>(state);
  return CUDA_SUCCESS;
}

CUresult AddData(CUlinkState handle, CUjitInputType type, void* data, std::size_t bytes,
                 const char* name, unsigned /*count*/, CUjit_option* /*options*/,
                 void** /*values*/) {
  State* const state = gpu::FromHandle<State>(handle);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto kind = InputOf(type);
  if (!kind || data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return Add(*state, *kind, {static_cast<const std::byte*>(data), bytes},
             name == nullptr ? "<input>" : name);
}

CUresult AddFile(CUlinkState handle, CUjitInputType type, const char* path, unsigned /*count*/,
                 CUjit_option* /*options*/, void** /*values*/) {
  State* const state = gpu::FromHandle<State>(handle);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto kind = InputOf(type);
  if (!kind || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  return Add(*state, *kind, std::as_bytes(std::span(bytes)), path);
}

CUresult Complete(CUlinkState handle, void** code, std::size_t* bytes) {
  State* const state = gpu::FromHandle<State>(handle);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const link::Outcome outcome = state->linkage->Complete();
  state->options->Tell(state->linkage->errors(), state->linkage->remarks());
  if (outcome != link::Outcome::kDone) return ToResult(outcome, link::Input::kObject);
  std::vector<std::byte>& made = state->linkage->code();
  *code = made.data();
  if (bytes != nullptr) *bytes = made.size();
  return CUDA_SUCCESS;
}

CUresult Destroy(CUlinkState handle) {
  State* const state = gpu::FromHandle<State>(handle);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state->linkage.reset();
  state->options.reset();
  States().GiveBack(state);
  return CUDA_SUCCESS;
}

}  // namespace eidolon::shim::cuda_driver::jit
