// Builds launches for tests, parameter by parameter, as the shim records them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "services/contract/workload/pointer_tag.h"
#include "services/timing/kernel/parameters.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

class LaunchBuilder {
 public:
  explicit LaunchBuilder(std::string name) { launch_.name = std::move(name); }

  LaunchBuilder& Grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
    launch_.grid = {x, y, z};
    return *this;
  }
  LaunchBuilder& Block(std::uint32_t x, std::uint32_t y = 1) {
    launch_.block = {x, y, 1};
    return *this;
  }
  template <typename T>
  LaunchBuilder& Add(T value) {
    return AddBytes(std::string(reinterpret_cast<const char*>(&value), sizeof(T)), sizeof(T));
  }
  LaunchBuilder& Pointer() { return Add(workload::kPointerTag); }
  LaunchBuilder& Pointers(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
      bytes.append(reinterpret_cast<const char*>(&workload::kPointerTag),
                   sizeof(workload::kPointerTag));
    }
    return AddBytes(bytes, 8);
  }
  // A struct parameter.
  LaunchBuilder& AddBytes(const std::string& bytes, std::size_t alignment) {
    auto& block = launch_.parameters;
    while (block.size() % alignment != 0) block.push_back('\0');
    launch_.slots.push_back(
        {static_cast<std::uint32_t>(block.size()), static_cast<std::uint32_t>(bytes.size())});
    block += bytes;
    return *this;
  }
  KernelLaunch Build() const { return launch_; }

 private:
  KernelLaunch launch_;
};

// A struct's bytes, written at offsets.
class StructBytes {
 public:
  explicit StructBytes(std::size_t size) : bytes_(size, '\0') {}
  template <typename T>
  StructBytes& Set(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace eidolon::timing::kernel
