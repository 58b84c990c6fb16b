// User objects: reference-counted resources of the program that graphs keep alive
// (cuUserObjectCreate).
#pragma once

#include <cstdint>
#include <map>

#include "shim/core/recycled.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

struct UserObject : core::Recycled<UserObject> {
  static constexpr std::uint32_t kMagic = 0x4555534f;

  std::uint32_t magic = kMagic;
  std::uint64_t references = 0;
  void* data = nullptr;
  void (*destroy)(void*) = nullptr;
};

UserObject* LookupUserObject(void* handle) noexcept;

Status CreateUserObject(void* data, void (*destroy)(void*), std::uint32_t references,
                        UserObject** result) noexcept;
Status RetainUserObject(UserObject& object, std::uint32_t count) noexcept;
// The last release runs the program's destructor on a callback-free path: it may call nothing of
// CUDA.
Status ReleaseUserObject(UserObject& object, std::uint32_t count) noexcept;

// The references that one graph holds; released with it.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences&) = delete;
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();

  // References of its own to everything that another graph keeps alive.
  void AddAll(const UserReferences& other);

  // Takes over `count` references of the caller (move) or makes new ones.
  Status Add(UserObject& object, std::uint32_t count, bool move) noexcept;
  Status Remove(UserObject& object, std::uint32_t count) noexcept;

 private:
  std::map<UserObject*, std::uint32_t> counts_;
};

}  // namespace eidolon::shim::gpu
