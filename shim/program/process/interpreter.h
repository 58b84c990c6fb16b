// The Python interpreter of this process, if there is one: functions of CPython's stable interface,
// found by name, because the shim is linked against none.
#pragma once

#include <cstdio>
#include <string>

namespace eidolon::shim::process {

// As CPython declares them; objects and thread states are pointers to something. All of a
// process's interpreter or none (Find). Requires of all but is_initialized and take_lock: its
// lock is held.
struct Interpreter {
  int (*is_initialized)() = nullptr;
  int (*take_lock)() = nullptr;
  void (*give_lock)(int before) = nullptr;
  void (*before_fork)() = nullptr;
  void (*after_fork)() = nullptr;  // In the parent.
  void (*after_fork_in_child)() = nullptr;
  int (*finalize)() = nullptr;

  void* (*this_state)() = nullptr;
  void* (*interpreter_of)(void* state) = nullptr;
  void* (*new_state)(void* interpreter) = nullptr;
  void* (*swap_state)(void* state) = nullptr;
  void (*clear_state)(void* state) = nullptr;
  void (*delete_state)(void* state) = nullptr;

  void* (*system_object)(const char* name) = nullptr;
  void* (*import_module)(const char* name) = nullptr;
  void* (*add_module)(const char* name) = nullptr;
  void* (*module_dict)(void* module) = nullptr;
  void* (*attribute)(void* object, const char* name) = nullptr;
  void* (*new_dict)() = nullptr;
  void* (*dict_item)(void* dict, const char* name) = nullptr;
  int (*set_dict_item)(void* dict, const char* name, void* value) = nullptr;
  void* (*new_list)(long size) = nullptr;
  int (*append)(void* list, void* value) = nullptr;
  void* (*new_bytes)(const char* data, long size) = nullptr;
  char* (*bytes_text)(void* bytes) = nullptr;
  int (*is_true)(void* object) = nullptr;
  void* (*call)(void* function, void* arguments) = nullptr;
  void* (*build)(const char* format, ...) = nullptr;

  void* (*run_text)(const char* text, int start, void* globals, void* locals) = nullptr;
  void* (*run_file)(FILE* file, const char* name, int start, void* globals, void* locals, int close,
                    void* flags) = nullptr;
  int (*matches)(void* exception) = nullptr;
  void (*print_error)() = nullptr;
  void (*clear_error)() = nullptr;
  void** keyboard_interrupt = nullptr;

  // nullptr where one of these is missing: no Python, or another one.
  static const Interpreter* Find() noexcept;
};

// Grammar for run_text and run_file: statements of a module.
inline constexpr int kFileInput = 257;

// Another state of the main thread, without any frame below it. What ran in the old one is never
// gone back to.
void BeginStack(const Interpreter& python) noexcept;

}  // namespace eidolon::shim::process
