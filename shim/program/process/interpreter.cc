#include "shim/program/process/interpreter.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

namespace eidolon::shim::process {
namespace {

template <typename Function>
bool Take(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool TakeAll(Interpreter& python) {
  return Take("Py_IsInitialized", python.is_initialized) &&
         Take("PyGILState_Ensure", python.take_lock) &&
         Take("PyGILState_Release", python.give_lock) &&
         Take("PyOS_BeforeFork", python.before_fork) &&
         Take("PyOS_AfterFork_Parent", python.after_fork) &&
         Take("PyOS_AfterFork_Child", python.after_fork_in_child) &&
         Take("Py_FinalizeEx", python.finalize) && Take("PyThreadState_Get", python.this_state) &&
         Take("PyThreadState_GetInterpreter", python.interpreter_of) &&
         Take("PyThreadState_New", python.new_state) &&
         Take("PyThreadState_Swap", python.swap_state) &&
         Take("PyThreadState_Clear", python.clear_state) &&
         Take("PyThreadState_Delete", python.delete_state) &&
         Take("PySys_GetObject", python.system_object) &&
         Take("PyImport_ImportModule", python.import_module) &&
         Take("PyImport_AddModule", python.add_module) &&
         Take("PyModule_GetDict", python.module_dict) &&
         Take("PyObject_GetAttrString", python.attribute) && Take("PyDict_New", python.new_dict) &&
         Take("PyDict_GetItemString", python.dict_item) &&
         Take("PyDict_SetItemString", python.set_dict_item) &&
         Take("PyList_New", python.new_list) && Take("PyList_Append", python.append) &&
         Take("PyBytes_FromStringAndSize", python.new_bytes) &&
         Take("PyBytes_AsString", python.bytes_text) && Take("PyObject_IsTrue", python.is_true) &&
         Take("PyObject_CallObject", python.call) && Take("Py_BuildValue", python.build) &&
         Take("PyRun_String", python.run_text) && Take("PyRun_FileExFlags", python.run_file) &&
         Take("PyErr_ExceptionMatches", python.matches) &&
         Take("PyErr_Print", python.print_error) && Take("PyErr_Clear", python.clear_error) &&
         Take("PyExc_KeyboardInterrupt", python.keyboard_interrupt);
}

// A state's place in the interpreter's own table of threads is given to the first that is made
// after another one was deleted.
void Replace(const Interpreter& python) {
  void* const old = python.this_state();
  python.swap_state(python.new_state(python.interpreter_of(old)));
  python.clear_state(old);
  python.delete_state(old);
}

// Extension modules keep the thread's state in keys of their own (pybind11: each of its copies),
// and would wait for the interpreter's lock with the old one while the new one holds it.
void TellExtensions(const void* before, const void* now) {
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key) {
    if (pthread_getspecific(key) == before) pthread_setspecific(key, now);
  }
}

}  // namespace

const Interpreter* Interpreter::Find() noexcept {
  static Interpreter python;
  static const bool found = TakeAll(python);
  return found ? &python : nullptr;
}

void BeginStack(const Interpreter& python) noexcept {
  void* const before = python.this_state();
  // Twice: while the old one is there, the thread is known by it, and not by one made meanwhile.
  Replace(python);
  Replace(python);
  TellExtensions(before, python.this_state());
}

}  // namespace eidolon::shim::process
