#include "shim/gpu/torch/optimizer_kernel.h"

#include <memory>
#include <string>

#include "services/base/demangle.h"
#include "services/contract/ring/memory_block.h"
#include "shim/gpu/device/device.h"

namespace eidolon::shim::gpu {
namespace {

const OptimizerKernel& OptimizerKernelOf(const Kernel& kernel) {
  if (const auto* known = kernel.optimizer.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const OptimizerKernel>(kernel.name, kernel.parameters);
  const OptimizerKernel* expected = nullptr;
  if (kernel.optimizer.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return *made.release();  // For good, as the kernel is.
  }
  return *expected;
}

ring::TensorRole RoleOf(torch_layout::ListRole role) {
  switch (role) {
    case torch_layout::ListRole::kParameters:
      return ring::TensorRole::kParameter;
    case torch_layout::ListRole::kGradients:
      return ring::TensorRole::kGradient;
    default:
      return ring::TensorRole::kOptimizerState;
  }
}

}  // namespace

OptimizerKernel::OptimizerKernel(std::string_view name,
                                 std::span<const cubin::Parameter> parameters) {
  if (name.find("multi_tensor_apply_kernel") == std::string_view::npos) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto lists = torch_layout::FindTensorLists(name, parameters[i].bytes);
    if (!lists) continue;
    const auto optimizer =
        torch_layout::FindOptimizerLists(base::Demangle(name).value_or(""), i > 0);
    if (optimizer) known_ = {*optimizer, *lists, parameters[i].offset};
    return;
  }
}

std::vector<torch_layout::ListedTensor> OptimizerKernel::TensorsOf(std::span<const std::byte> block,
                                                                   std::uint32_t launched) const {
  if (!known_ || known_->offset > block.size()) return {};
  return torch_layout::ListTensors(known_->optimizer, known_->lists, block.subspan(known_->offset),
                                   launched);
}

void TellOptimizerTensors(core::Session& session, const Kernel& kernel, std::uint32_t launched,
                          std::span<const std::byte> block, int device) {
  if (!session.wants_timeline()) return;
  const auto tensors = OptimizerKernelOf(kernel).TensorsOf(block, launched);
  if (tensors.empty()) return;
  std::vector<ring::OptimizerTensor> told;
  told.reserve(tensors.size());
  for (const torch_layout::ListedTensor& tensor : tensors) {
    told.push_back({.address = tensor.address,
                    .bytes = tensor.bytes,
                    .role = RoleOf(tensor.role),
                    .reserved = 0});
  }
  ring::OptimizerTensorsRecord record{};
  record.header.kind = ring::RecordKind::kOptimizerTensors;
  record.header.device = RingDevice(device);
  record.count = static_cast<std::uint32_t>(told.size());
  const std::span<const std::byte> tail[] = {std::as_bytes(std::span(told))};
  session.Append(&record.header, sizeof(record), tail);
}

}  // namespace eidolon::shim::gpu
