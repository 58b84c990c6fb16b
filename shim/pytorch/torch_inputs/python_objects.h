// Objects of the program's interpreter, as far as its inputs have to be read. Nothing here runs
// Python code of its own, so that neither a profiler nor a debugger of the program sees it. The
// interpreter's lock is held wherever these are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace eidolon::shim::torch_inputs {

// The parts of CPython's C API that are used, as it declares them.
struct Python {
  void* (*current_frame)() = nullptr;                               // Borrowed.
  void* (*attribute)(void* object, const char* name) = nullptr;     // A new reference.
  void* (*mapping_item)(void* mapping, const char* key) = nullptr;  // A new reference.
  void* (*dict_item)(void* dict, const char* key) = nullptr;        // Borrowed; sets no error.
  void* (*dict_values)(void* dict) = nullptr;                       // A new list.
  void* (*sequence_item)(void* sequence, std::ptrdiff_t index) = nullptr;  // A new reference.
  std::ptrdiff_t (*size)(void* object) = nullptr;
  void* (*type)(void* object) = nullptr;  // A new reference.
  int (*is_subtype)(void* type, void* base) = nullptr;
  int (*is_true)(void* object) = nullptr;
  long long (*number)(void* object) = nullptr;
  void* (*call)(void* function, void* arguments) = nullptr;  // A new reference.
  void* (*module)(const char* name) = nullptr;               // Borrowed.
  void (*release)(void* object) = nullptr;
  void (*clear_error)() = nullptr;
  void* list_type = nullptr;
  void* tuple_type = nullptr;
  void* dict_type = nullptr;
};

// Null where a function is missing.
const Python* FindPython() noexcept;

// A reference that is given back. An error of the call that made it is cleared.
class Reference {
 public:
  Reference() = default;
  Reference(const Python& python, void* object) : python_(&python), object_(object) {
    if (object == nullptr) python.clear_error();
  }
  Reference(Reference&& other) noexcept
      : python_(other.python_), object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(python_, other.python_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() {
    if (object_ != nullptr) python_->release(object_);
  }

  void* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const Python* python_ = nullptr;
  void* object_ = nullptr;
};

bool HasType(const Python& python, void* object, void* type);

// The variable of a frame's function; none where it has no such variable.
Reference VariableOf(const Python& python, void* frame, const char* name);

// Returns whether the object is a tensor of PyTorch, or of a subclass.
bool IsTensor(const Python& python, void* object);

// The sizes of a plain tensor of PyTorch; nothing for other objects, also for subclasses, whose own
// code would be asked.
std::optional<std::vector<std::int64_t>> SizesOf(const Python& python, void* object);

}  // namespace eidolon::shim::torch_inputs
