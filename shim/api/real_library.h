// A vendor library that still does its own work behind our facade, for policies that say `forward`.
// It is found where the program's own libraries would look for it and loaded on the first call, so
// that a process that never needs it does not pay for it. Thread safe; never unloaded.
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace eidolon::shim::api {

class RealLibrary {
 public:
  // Names of the library in CUDA 13 and in CUDA 12, also names of files; they outlive this object.
  // The older one is taken where a loaded object needs CUDA 12's runtime and none needs CUDA 13's.
  // `companions`: how the names of the files begin that the library loads by themselves, from its
  // own folder; empty: none.
  constexpr RealLibrary(const char* newer, const char* older, const char* companions = "")
      : sonames_{newer, older}, companions_(companions) {}
  RealLibrary(const RealLibrary&) = delete;
  RealLibrary& operator=(const RealLibrary&) = delete;

  // The function of this name, or null when the library or the function is missing.
  void* Find(const char* function) noexcept;

 private:
  void* Load() noexcept;

  const std::array<const char*, 2> sonames_;
  const char* const companions_;
  std::atomic<void*> handle_ = nullptr;
};

// True if a loaded object names `soname` among what it needs.
bool IsNeeded(const std::string& soname);

template <typename Function>
Function* FindReal(RealLibrary& library, const char* name) noexcept {
  return reinterpret_cast<Function*>(library.Find(name));
}

}  // namespace eidolon::shim::api
