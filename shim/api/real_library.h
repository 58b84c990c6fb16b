// A vendor library that still does its own work behind our facade, for policies that say `forward`.
// It is found where the program's own libraries would look for it and loaded on the first call, so
// that a process that never needs it does not pay for it. Thread safe; never unloaded.
#pragma once

#include <atomic>

namespace eidolon::shim::api {

class RealLibrary {
 public:
  // `soname` is also the file's name, and outlives this object.
  explicit constexpr RealLibrary(const char* soname) : soname_(soname) {}
  RealLibrary(const RealLibrary&) = delete;
  RealLibrary& operator=(const RealLibrary&) = delete;

  // The function of this name, or null when the library or the function is missing.
  void* Find(const char* function) noexcept;

 private:
  void* Load() noexcept;

  const char* soname_;
  std::atomic<void*> handle_ = nullptr;
};

template <typename Function>
Function* FindReal(RealLibrary& library, const char* name) noexcept {
  return reinterpret_cast<Function*>(library.Find(name));
}

}  // namespace eidolon::shim::api
