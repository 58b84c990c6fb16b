// Arbitrary calls of cuDNN's graph interface: descriptors of any type with any attributes,
// finalized, read and executed in any order. The input is a sequence of (call, descriptor,
// attribute, type, count, elements).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "services/base/check.h"
#include "shim/vendor/cudnn/backend.h"
#include "shim/vendor/cudnn/node.h"

namespace eidolon::shim::cudnn {
namespace {

constexpr std::size_t kDescriptors = 16;

// Reads numbers from the input; zeros once it is used up.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  template <typename T>
  T Take() {
    T value{};
    const std::size_t bytes = std::min(sizeof(T), size_);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// All attribute names that a descriptor type owns, so that the input need not guess them.
std::vector<cudnnBackendAttributeName_t> NamesOf(cudnnBackendDescriptorType_t type) {
  constexpr int kNamesEnd = 4096;
  std::vector<cudnnBackendAttributeName_t> names;
  for (int at = 0; at < kNamesEnd; ++at) {
    const auto name = static_cast<cudnnBackendAttributeName_t>(at);
    if (OwnerOf(name) == type) names.push_back(name);
  }
  return names;
}

const std::vector<cudnnBackendAttributeName_t>& KnownNamesOf(cudnnBackendDescriptorType_t type) {
  static const auto all = [] {
    std::vector<std::vector<cudnnBackendAttributeName_t>> list;
    for (int at = 0; at <= CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR; ++at) {
      list.push_back(NamesOf(static_cast<cudnnBackendDescriptorType_t>(at)));
    }
    return list;
  }();
  return all[static_cast<std::size_t>(type)];
}

// The descriptors of one program.
class Program {
 public:
  explicit Program(Source* source) : source_(*source) {}
  ~Program() {
    for (const auto descriptor : descriptors_) backend::DestroyDescriptor(descriptor);
  }

  void Step() {
    const std::uint8_t call = source_.Take<std::uint8_t>() % 8;
    const std::size_t at = source_.Take<std::uint8_t>() % kDescriptors;
    switch (call) {
      case 0:
        return Make(at);
      case 1:
        backend::Finalize(descriptors_[at]);
        return;
      case 2:
        return Read(at);
      case 3: {
        std::size_t bytes = 0;
        backend::GetPlanWorkspaceSize(nullptr, descriptors_[at], nullptr, &bytes);
        return;
      }
      default:
        return Write(at);
    }
  }

 private:
  void Make(std::size_t at) {
    backend::DestroyDescriptor(descriptors_[at]);
    descriptors_[at] = nullptr;
    types_[at] = static_cast<cudnnBackendDescriptorType_t>(
        source_.Take<std::uint8_t>() % (CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR + 1));
    CHECK(backend::CreateDescriptor(types_[at], &descriptors_[at]) == CUDNN_STATUS_SUCCESS);
  }

  cudnnBackendAttributeName_t NameFor(std::size_t at) {
    const auto& names = KnownNamesOf(types_[at]);
    const std::uint8_t number = source_.Take<std::uint8_t>();
    if (names.empty()) return static_cast<cudnnBackendAttributeName_t>(number);
    return names[number % names.size()];
  }

  cudnnBackendAttributeType_t TypeFor() {
    return static_cast<cudnnBackendAttributeType_t>(source_.Take<std::uint8_t>() % 40);
  }

  void Write(std::size_t at) {
    const auto name = NameFor(at);
    const auto type = TypeFor();
    const int count = source_.Take<std::uint8_t>() % 12;
    std::vector<std::uint64_t> elements(16 * 2);  // Wide enough for every type's elements.
    for (int i = 0; i < count; ++i) {
      if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const auto handle = descriptors_[source_.Take<std::uint8_t>() % kDescriptors];
        std::memcpy(&elements[static_cast<std::size_t>(i)], &handle, sizeof(handle));
      } else {
        elements[static_cast<std::size_t>(i)] =
            source_.Take<std::uint8_t>() % 4 == 3
                ? source_.Take<std::uint64_t>()
                : static_cast<std::uint64_t>(source_.Take<std::uint16_t>());
      }
    }
    backend::SetAttribute(descriptors_[at], name, type, count, elements.data());
  }

  void Read(std::size_t at) {
    const auto name = NameFor(at);
    const auto type = TypeFor();
    std::array<std::uint64_t, 32> elements{};
    const std::int64_t requested = source_.Take<std::uint8_t>() % 12;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (std::size_t i = 0; i < 12; ++i) {
        const auto handle = descriptors_[source_.Take<std::uint8_t>() % kDescriptors];
        std::memcpy(&elements[i], &handle, sizeof(handle));
      }
    }
    std::int64_t count = 0;
    backend::GetAttribute(descriptors_[at], name, type, requested, &count, elements.data());
    CHECK(count >= 0);
  }

  Source& source_;
  std::array<cudnnBackendDescriptor_t, kDescriptors> descriptors_{};
  std::array<cudnnBackendDescriptorType_t, kDescriptors> types_{};
};

}  // namespace
}  // namespace eidolon::shim::cudnn

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  eidolon::shim::cudnn::Source source(data, size);
  eidolon::shim::cudnn::Program program(&source);
  while (!source.empty()) program.Step();
  return 0;
}
