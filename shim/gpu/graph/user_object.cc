#include "shim/gpu/graph/user_object.h"

#include <mutex>
#include <new>

namespace eidolon::shim::gpu {
namespace {

constinit std::mutex counting;  // Guards every object's references.

}  // namespace

UserObject* LookupUserObject(void* handle) noexcept {
  auto* object = static_cast<UserObject*>(handle);
  return object != nullptr && object->magic == UserObject::kMagic ? object : nullptr;
}

Status CreateUserObject(void* data, void (*destroy)(void*), std::uint32_t references,
                        UserObject** result) noexcept {
  if (destroy == nullptr || references == 0 || result == nullptr) return Status::kInvalidValue;
  auto* object = new (std::nothrow) UserObject;
  if (object == nullptr) return Status::kOutOfMemory;
  object->references = references;
  object->data = data;
  object->destroy = destroy;
  *result = object;
  return Status::kSuccess;
}

Status RetainUserObject(UserObject& object, std::uint32_t count) noexcept {
  if (count == 0) return Status::kInvalidValue;
  const std::lock_guard guard(counting);
  object.references += count;
  return Status::kSuccess;
}

Status ReleaseUserObject(UserObject& object, std::uint32_t count) noexcept {
  {
    const std::lock_guard guard(counting);
    if (count == 0 || count > object.references) return Status::kInvalidValue;
    object.references -= count;
    if (object.references != 0) return Status::kSuccess;
    object.magic = 0;
  }
  // Outside the lock: the destructor is the program's.
  object.destroy(object.data);
  delete &object;
  return Status::kSuccess;
}

void UserReferences::AddAll(const UserReferences& other) {
  for (const auto& [object, count] : other.counts_) Add(*object, count, false);
}

UserReferences::~UserReferences() {
  for (const auto& [object, count] : counts_) ReleaseUserObject(*object, count);
}

Status UserReferences::Add(UserObject& object, std::uint32_t count, bool move) noexcept {
  if (count == 0) return Status::kInvalidValue;
  if (!move) {
    if (const Status status = RetainUserObject(object, count); status != Status::kSuccess) {
      return status;
    }
  }
  counts_[&object] += count;
  return Status::kSuccess;
}

Status UserReferences::Remove(UserObject& object, std::uint32_t count) noexcept {
  const auto found = counts_.find(&object);
  if (found == counts_.end() || count == 0 || found->second < count) return Status::kInvalidValue;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  return ReleaseUserObject(object, count);
}

}  // namespace eidolon::shim::gpu
