// Reading a launch's parameter block: numbers by slot or by offset, always within bounds.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// A view of one launch; the launch outlives it.
class Parameters {
 public:
  explicit Parameters(const KernelLaunch& launch) : launch_(launch) {}

  std::size_t slot_count() const { return launch_.slots.size(); }
  std::size_t size() const { return launch_.parameters.size(); }

  // Offset and size of a slot; nothing when the launch has fewer.
  std::optional<ParameterSlot> Slot(std::size_t index) const {
    if (index >= launch_.slots.size()) return std::nullopt;
    return launch_.slots[index];
  }

  template <typename T>
  std::optional<T> At(std::size_t offset) const {
    if (offset > size() || size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, launch_.parameters.data() + offset, sizeof(T));
    return value;
  }

  // A slot of 1, 2, 4 or 8 bytes as a signed integer; nothing for other sizes and pointers.
  std::optional<std::int64_t> Integer(std::size_t index) const;

  bool IsPointer(std::size_t offset) const;
  // Blanked device pointers in [begin, end), at 8-byte steps.
  int PointerCount(std::size_t begin, std::size_t end) const;
  int PointerCount() const { return PointerCount(0, size()); }

 private:
  const KernelLaunch& launch_;
};

}  // namespace eidolon::timing::kernel
