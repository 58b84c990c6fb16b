// The child of a fork inherits an interpreter that is in the middle of torchrun's Popen call, and
// exec never returns to it. So exec is the moment to take over: it knows the command and the
// variables, and nothing of the caller has to be unwound. What exec would have done happens here in
// three steps. The Python text decides whether the child may go on, and may still refuse.
// ShowProgram is the last step that can fail and leaves everything as it was when it does. From
// CloseForExec on there is no way back, and the process ends as the interpreter's own main would
// end it.
//
// Only torchrun's main thread forks so, and only while torchrun has neither a session nor a trapped
// counter, which a child could not shed.
#include "shim/program/process/next_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "shim/core/launcher.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/program/process/interpreter.h"
#include "shim/program/process/next_program_text.h"
#include "shim/program/process/program_image.h"
#include "shim/program/process/resolver_lock.h"
#include "shim/program/time/new_program.h"

namespace eidolon::shim::process {
namespace {

// The process that forked last, if its child may go on. Children of vfork share it.
constinit long forked_by = 0;
constinit bool is_forking = false;
constinit bool has_gone_on = false;

bool IsMainThread() { return core::RawSyscall(SYS_gettid) == core::RawSyscall(SYS_getpid); }

// RANKS_GO_ON.
bool IsWanted(std::string_view what) {
  const char* const wanted = getenv("RANKS_GO_ON");
  return wanted != nullptr && wanted == what;
}

void Explain(std::string_view why_not) {
  if (!IsWanted("explain")) return;
  std::string line = "eidolon: ranks are executed anew: ";
  line.append(why_not).append("\n");
  core::WriteToStderr(line.c_str());
}

// Returns whether this process is torchrun and has done nothing in the shim that a child would
// inherit.
bool MayGoOn() {
  if (!core::IsTorchrun() || (!IsWanted("1") && !IsWanted("explain"))) return false;
  const Interpreter* const python = Interpreter::Find();
  if (python == nullptr || python->is_initialized() == 0 || !IsMainThread()) return false;
  if (core::Session::WasWanted() || core::ticks_hidden.load()) {
    Explain("torchrun has used a GPU");
    return false;
  }
  return true;
}

// What came of the imports that ranks share; children have a copy. Null before they were tried.
constinit void* shared_imports = nullptr;

// Requires: the interpreter's lock, in torchrun. Importing may start processes of its own.
void ImportForRanks(const Interpreter& python) {
  static bool is_at_it = false;
  if (shared_imports != nullptr || is_at_it) return;
  is_at_it = true;
  void* const names = python.new_dict();
  python.set_dict_item(names, "__builtins__", python.import_module("builtins"));
  const bool ran = python.run_text(kSharedImportsText, kFileInput, names, names) != nullptr;
  if (!ran) {
    Explain("what they share could not be imported");
    python.clear_error();
  }
  void* const is_done = python.dict_item(names, "is_done");
  if (!ran || (is_done != nullptr && python.is_true(is_done) == 1)) shared_imports = names;
  is_at_it = false;
}

// CPython gives its lock away around vfork, whose child shares it. This child's copy must be held
// by the thread that it has.
int ForkWithInterpreter() {
  const Interpreter& python = *Interpreter::Find();
  const int before = python.take_lock();
  ImportForRanks(python);
  python.before_fork();
  is_forking = true;
  const int child = fork();
  is_forking = false;
  if (child == 0) return 0;
  const int error = errno;
  python.after_fork();
  python.give_lock(before);
  errno = error;
  return child;
}

// A list of bytes.
void* ListOf(const Interpreter& python, char* const texts[]) {
  void* const list = python.new_list(0);
  for (; *texts != nullptr; ++texts) {
    python.append(list, python.new_bytes(*texts, static_cast<long>(strlen(*texts))));
  }
  return list;
}

void* ListOfLines(const Interpreter& python, const std::string& lines) {
  void* const list = python.new_list(0);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\0', at), lines.size());
    python.append(list, python.new_bytes(lines.data() + at, static_cast<long>(end - at)));
    at = end + 1;
  }
  return list;
}

// The names of the Python text, once it has decided; nullptr when this process is not to go on.
void* Decide(const Interpreter& python, char* const arguments[], char* const variables[]) {
  void* const names = python.new_dict();
  python.set_dict_item(names, "command", ListOf(python, arguments));
  python.set_dict_item(names, "variables", ListOf(python, variables));
  python.set_dict_item(names, "began_with", ListOfLines(python, BeganWith()));
  void* const shared =
      shared_imports == nullptr ? nullptr : python.dict_item(shared_imports, "shared");
  python.set_dict_item(names, "shared", shared == nullptr ? python.build("") : shared);
  python.set_dict_item(names, "__builtins__", python.import_module("builtins"));
  if (python.run_text(kNextProgramText, kFileInput, names, names) == nullptr) {
    Explain("its state could not be read");
    python.clear_error();
    return nullptr;
  }
  void* const why_not = python.dict_item(names, "why_not");
  if (why_not == nullptr || python.is_true(why_not) == 0) return names;
  Explain(python.bytes_text(why_not));
  return nullptr;
}

// The program's result, or nullptr with an exception.
void* Run(const Interpreter& python, void* names) {
  void* const script = python.dict_item(names, "script");
  if (python.is_true(script) == 1) {
    const char* const name = python.bytes_text(script);
    FILE* const file = fopen(name, "rbe");
    if (file == nullptr) return nullptr;
    void* const globals = python.module_dict(python.add_module("__main__"));
    return python.run_file(file, name, kFileInput, globals, globals, 1, nullptr);
  }
  void* const runs = python.attribute(python.import_module("runpy"), "_run_module_as_main");
  return python.call(runs, python.build("(O)", python.dict_item(names, "module")));
}

// Ends the process as the interpreter's own program does.
[[noreturn]] void End(const Interpreter& python, const void* result) {
  const bool interrupted = result == nullptr && python.matches(*python.keyboard_interrupt) != 0;
  if (result == nullptr) python.print_error();  // Ends the process for SystemExit.
  int status = result == nullptr ? 1 : 0;
  if (python.finalize() < 0) status = 120;
  if (interrupted) {
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
    status = 128 + SIGINT;
  }
  exit(status);
}

}  // namespace

bool IsForkedToGoOn() noexcept { return is_forking; }

bool HasGoneOn() noexcept { return has_gone_on; }

Fork ForkForChild() noexcept {
  static const auto plain = reinterpret_cast<Fork>(dlsym(RTLD_NEXT, "vfork"));
  const bool may_go_on = MayGoOn();
  forked_by = may_go_on ? core::RawSyscall(SYS_getpid) : 0;
  if (may_go_on) return &ForkWithInterpreter;
  return plain == nullptr ? &fork : plain;
}

void GoOnAs(const char* path, char* const arguments[], char* const variables[]) noexcept {
  if (forked_by == 0 || forked_by == core::RawSyscall(SYS_getpid)) return;
  forked_by = 0;
  const Interpreter* const python = Interpreter::Find();
  if (python == nullptr || variables == nullptr || arguments == nullptr ||
      arguments[0] == nullptr || strcmp(path, arguments[0]) != 0) {
    return;
  }
  python->after_fork_in_child();
  if (!IsResolverFree()) {
    Explain("a thread of torchrun was looking up a name as it forked");
    return;
  }
  void* const names = Decide(*python, arguments, variables);
  if (names == nullptr) return;
  if (!ShowProgram(arguments, variables)) {
    Explain("the kernel does not let a process show another command");
    return;
  }

  CloseForExec();
  has_gone_on = true;
  NameProcess(path);
  __fpurge(stdout);
  __fpurge(stderr);
  environ = const_cast<char**>(variables);
  time::BeginNewProgram();
  BeginStack(*python);
  void* const begun = python->run_text("become()", kFileInput, names, names);
  End(*python, begun == nullptr ? nullptr : Run(*python, names));
}

}  // namespace eidolon::shim::process
