// Object behind a vendor's handle or descriptor: it starts with a magic number, so that a stale or
// foreign pointer is refused instead of trusted.
#pragma once

#include <cstdint>

#include "shim/core/recycled.h"

namespace eidolon::shim::library {

// Base of such objects. Derived must have `static constexpr std::uint64_t kMagic`, different in
// each type. Objects are owned by the program: Make gives one out, Destroy takes it back.
template <typename Derived>
class Opaque : public core::Recycled<Derived> {
 public:
  Opaque() : magic_(Derived::kMagic) {}
  Opaque(const Opaque&) = default;
  Opaque& operator=(const Opaque&) = default;

  // The object behind a handle, or nullptr when it is not one.
  template <typename Handle>
  static Derived* Find(Handle handle) {
    auto* object = reinterpret_cast<Derived*>(handle);
    return object != nullptr && object->magic_ == Derived::kMagic ? object : nullptr;
  }
  template <typename Handle>
  static Derived* Make(Handle* handle) {
    auto* object = new Derived;
    *handle = reinterpret_cast<Handle>(object);
    return object;
  }
  // False when the handle is none.
  template <typename Handle>
  static bool Destroy(Handle handle) {
    Derived* object = Find(handle);
    delete object;
    return object != nullptr;
  }

 private:
  std::uint64_t magic_;
};

}  // namespace eidolon::shim::library
