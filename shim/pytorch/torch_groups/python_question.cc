#include "shim/pytorch/torch_groups/python_question.h"

#include <dlfcn.h>

#include <cstddef>

namespace eidolon::shim::torch_groups {
namespace {

// The parts of CPython's C API that are used, as it declares them.
struct Python {
  int (*is_initialized)() = nullptr;
  int (*lock)() = nullptr;
  void (*unlock)(int) = nullptr;
  void* (*new_dictionary)() = nullptr;
  int (*set_item)(void* dictionary, const char* key, void* value) = nullptr;
  void* (*item)(void* dictionary, const char* key) = nullptr;  // Borrowed.
  void* (*text)(const char* text, std::ptrdiff_t bytes) = nullptr;
  void* (*number)(long long value) = nullptr;
  const char* (*bytes_of)(void* text, std::ptrdiff_t* bytes) = nullptr;
  void* (*run)(const char* code, int start, void* globals, void* locals) = nullptr;
  void (*release)(void* object) = nullptr;
  void (*clear_error)() = nullptr;
};

template <typename Function>
bool Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

const Python* FindPython() {
  static const Python* const found = [] -> const Python* {
    static Python python;
    const bool complete =
        Find("Py_IsInitialized", python.is_initialized) && Find("PyGILState_Ensure", python.lock) &&
        Find("PyGILState_Release", python.unlock) && Find("PyDict_New", python.new_dictionary) &&
        Find("PyDict_SetItemString", python.set_item) &&
        Find("PyDict_GetItemString", python.item) &&
        Find("PyUnicode_FromStringAndSize", python.text) &&
        Find("PyLong_FromLongLong", python.number) &&
        Find("PyUnicode_AsUTF8AndSize", python.bytes_of) && Find("PyRun_String", python.run) &&
        Find("Py_DecRef", python.release) && Find("PyErr_Clear", python.clear_error);
    return complete ? &python : nullptr;
  }();
  return found != nullptr && found->is_initialized() != 0 ? found : nullptr;
}

constexpr int kFileInput = 257;  // Py_file_input.

void* MakeObject(const Python& python, const PythonValue& given) {
  if (const auto* text = std::get_if<std::string>(&given.value)) {
    return python.text(text->data(), static_cast<std::ptrdiff_t>(text->size()));
  }
  return python.number(std::get<std::int64_t>(given.value));
}

}  // namespace

std::string AskPython(const char* code, std::span<const PythonValue> values) {
  const Python* const python = FindPython();
  if (python == nullptr) return "";
  const int state = python->lock();
  std::string answer;
  void* const globals = python->new_dictionary();
  for (const PythonValue& given : values) {
    void* const object = MakeObject(*python, given);
    if (object == nullptr) continue;
    python->set_item(globals, given.name, object);
    python->release(object);
  }
  void* const done = python->run(code, kFileInput, globals, globals);
  if (done != nullptr) {
    python->release(done);
    std::ptrdiff_t bytes = 0;
    void* const text = python->item(globals, "answer");
    const char* const said = text == nullptr ? nullptr : python->bytes_of(text, &bytes);
    if (said != nullptr) answer.assign(said, static_cast<std::size_t>(bytes));
  }
  python->clear_error();
  python->release(globals);
  python->unlock(state);
  return answer;
}

}  // namespace eidolon::shim::torch_groups
