#include "shim/pytorch/torch_inputs/python_objects.h"

#include <dlfcn.h>

namespace eidolon::shim::torch_inputs {
namespace {

template <typename Function>
bool Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// PyTorch is loaded, since the program calls modules of it.
void* TensorType(const Python& python) {
  static void* const type = python.attribute(python.module("torch"), "Tensor");
  if (type == nullptr) python.clear_error();
  return type;
}

}  // namespace

const Python* FindPython() noexcept {
  static const Python* const found = [] -> const Python* {
    static Python python;
    const bool complete =
        Find("PyEval_GetFrame", python.current_frame) &&
        Find("PyObject_GetAttrString", python.attribute) &&
        Find("PyMapping_GetItemString", python.mapping_item) &&
        Find("PyDict_GetItemString", python.dict_item) &&
        Find("PyDict_Values", python.dict_values) &&
        Find("PySequence_GetItem", python.sequence_item) && Find("PyObject_Size", python.size) &&
        Find("PyObject_Type", python.type) && Find("PyType_IsSubtype", python.is_subtype) &&
        Find("PyObject_IsTrue", python.is_true) && Find("PyLong_AsLongLong", python.number) &&
        Find("PyObject_CallObject", python.call) && Find("PyImport_AddModule", python.module) &&
        Find("Py_DecRef", python.release) && Find("PyErr_Clear", python.clear_error) &&
        Find("PyList_Type", python.list_type) && Find("PyTuple_Type", python.tuple_type) &&
        Find("PyDict_Type", python.dict_type);
    return complete ? &python : nullptr;
  }();
  return found;
}

bool HasType(const Python& python, void* object, void* type) {
  const Reference own(python, python.type(object));
  return own && python.is_subtype(own.get(), type) != 0;
}

Reference VariableOf(const Python& python, void* frame, const char* name) {
  const Reference variables(python, python.attribute(frame, "f_locals"));
  if (!variables) return {};
  return {python, python.mapping_item(variables.get(), name)};
}

bool IsTensor(const Python& python, void* object) {
  void* const tensor_type = TensorType(python);
  return tensor_type != nullptr && HasType(python, object, tensor_type);
}

std::optional<std::vector<std::int64_t>> SizesOf(const Python& python, void* object) {
  const Reference type(python, python.type(object));
  if (!type || type.get() != TensorType(python)) return std::nullopt;
  const Reference shape(python, python.attribute(object, "shape"));
  if (!shape) return std::nullopt;
  const std::ptrdiff_t dimensions = python.size(shape.get());
  std::vector<std::int64_t> sizes;
  for (std::ptrdiff_t i = 0; i < dimensions; ++i) {
    const Reference size(python, python.sequence_item(shape.get(), i));
    const long long value = size ? python.number(size.get()) : -1;
    if (value < 0) {
      python.clear_error();
      return std::nullopt;
    }
    sizes.push_back(value);
  }
  return sizes;
}

}  // namespace eidolon::shim::torch_inputs
