// CPython can describe a stack without its lock only into a file descriptor (_Py_DumpTraceback), so
// the text goes to a file in memory whose pages are mapped, and is parsed there. The file is never
// cut, and stacks lie over each other: the file's position after the call, and not its size, says
// where the newest text ends. One mutex orders the threads that use it. A line that does not look
// as expected is passed over, and whatever fails gives no line; only BackwardRunsIn answers "yes"
// then, the side on which nothing is counted that should not be.
#include "shim/core/python_line.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace eidolon::shim::core {
namespace {

// These are declared as in CPython.
struct Interpreter {
  int (*is_initialized)() = nullptr;
  void* (*this_thread)() = nullptr;
  void (*dump)(int file, void* thread) = nullptr;
  int (*has_lock)() = nullptr;
};

template <typename Function>
void Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

Interpreter FindInterpreter() {
  Interpreter python;
  Find("Py_IsInitialized", python.is_initialized);
  Find("PyGILState_GetThisThreadState", python.this_thread);
  Find("_Py_DumpTraceback", python.dump);
  Find("PyGILState_Check", python.has_lock);
  return python;
}

const Interpreter& ThisInterpreter() {
  static const Interpreter python = FindInterpreter();
  return python;
}

// A file that stacks are written to, one over the other, and whose bytes lie in memory.
class StackFile {
 public:
  static constexpr std::size_t kBytes = 16 << 10;

  StackFile() : file_(memfd_create("eidolon-stack", MFD_CLOEXEC)) {
    if (file_ < 0 || ftruncate(file_, kBytes) != 0) return;
    void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file_, 0);
    if (mapped != MAP_FAILED) bytes_ = static_cast<const char*>(mapped);
  }
  std::string Read(const Interpreter& python, void* thread) const {
    if (bytes_ == nullptr || lseek(file_, 0, SEEK_SET) != 0) return "";
    python.dump(file_, thread);
    const off_t written = lseek(file_, 0, SEEK_CUR);
    if (written <= 0) return "";
    return {bytes_, std::min(static_cast<std::size_t>(written), kBytes)};
  }

 private:
  const int file_;
  const char* bytes_ = nullptr;
};

std::string ReadStack(const Interpreter& python, void* thread) {
  static std::mutex mutex;  // Guards the file.
  const std::lock_guard guard(mutex);
  static const StackFile file;  // Stays open: threads may outlive main.
  return file.Read(python, thread);
}

// A frame of the interpreter's text.
struct Frame {
  std::string line;           // Empty: there is none.
  std::string_view function;  // Empty: not told.
};

std::string_view FunctionOf(std::string_view behind_number) {
  constexpr std::string_view kIn = " in ";
  if (!behind_number.starts_with(kIn)) return {};
  return behind_number.substr(kIn.size(), kFunctionBytesMax);
}

void CutLine(std::string* place) {
  if (place->size() > kLineBytesMax) place->erase(0, place->size() - kLineBytesMax);
}

Frame InnermostFrame(std::string_view stack) {
  Frame frame;
  while (!stack.empty()) {
    const std::size_t end = stack.find('\n');
    const std::string_view text = stack.substr(0, end);
    stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
    constexpr std::string_view kFile = "File \"";
    constexpr std::string_view kLine = "\", line ";
    const std::size_t file = text.find(kFile);
    const std::size_t number = text.rfind(kLine);
    if (file == std::string_view::npos || number == std::string_view::npos) continue;
    if (number < file + kFile.size()) continue;
    const std::string_view path = text.substr(file + kFile.size(), number - file - kFile.size());
    const std::string_view rest = text.substr(number + kLine.size());
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    if (path.empty() || digits.empty() || digits.size() > 9) continue;
    if (IsTorch(path)) continue;
    frame.line = path;
    frame.line.append(":").append(digits);
    frame.function = FunctionOf(rest.substr(digits.size()));
    break;
  }
  CutLine(&frame.line);
  return frame;
}

}  // namespace

// A PyTorch of the program's environment.
bool IsTorch(std::string_view file) {
  return file.find("-packages/torch/") != std::string_view::npos;
}

std::string PlaceOfFrame(const PythonFrameText& frame) {
  std::string place(frame.path);
  place.append(":").append(std::to_string(frame.line));
  CutLine(&place);
  const std::string_view function = frame.function.substr(0, kFunctionBytesMax);
  if (!function.empty()) place.append(" in ").append(function);
  return place;
}

std::string LineOf(std::string_view stack) { return InnermostFrame(stack).line; }

std::string PlaceOf(std::string_view stack) {
  Frame frame = InnermostFrame(stack);
  if (!frame.function.empty()) frame.line.append(" in ").append(frame.function);
  return frame.line;
}

bool HasStackText() noexcept {
  try {
    return ThisInterpreter().dump != nullptr;
  } catch (...) {
    return false;
  }
}

void* PythonThread() noexcept {
  try {
    const Interpreter& python = ThisInterpreter();
    if (python.this_thread == nullptr || python.is_initialized == nullptr ||
        python.is_initialized() == 0) {
      return nullptr;
    }
    return python.this_thread();
  } catch (...) {
    return nullptr;
  }
}

namespace {

// Of the calling thread; empty when it cannot be had.
std::string StackOfThread() {
  const Interpreter& python = ThisInterpreter();
  void* const thread = PythonThread();
  return thread == nullptr || python.dump == nullptr ? "" : ReadStack(python, thread);
}

}  // namespace

std::string PythonLine() noexcept {
  try {
    return LineOf(StackOfThread());
  } catch (...) {
    return "";
  }
}

std::string PythonPlace() noexcept {
  try {
    return PlaceOf(StackOfThread());
  } catch (...) {
    return "";
  }
}

bool TorchRuns(std::string_view stack, std::initializer_list<std::string_view> functions) {
  for (std::size_t at = 0; at < stack.size();) {
    const std::size_t end = std::min(stack.find('\n', at), stack.size());
    const std::string_view text = stack.substr(at, end - at);
    at = end + 1;
    if (text.find("File \"") == std::string_view::npos) continue;
    if (!IsTorch(text)) return false;
    for (const std::string_view function : functions) {
      constexpr std::string_view kIn = " in ";
      if (text.ends_with(function) &&
          text.substr(0, text.size() - function.size()).ends_with(kIn)) {
        return true;
      }
    }
  }
  return false;
}

bool TorchRuns(std::initializer_list<std::string_view> functions) noexcept {
  try {
    return TorchRuns(StackOfThread(), functions);
  } catch (...) {
    return false;
  }
}

PythonState PythonOfThread() noexcept {
  try {
    const Interpreter& python = ThisInterpreter();
    if (python.is_initialized == nullptr) return PythonState::kNotRunning;
    if (python.has_lock == nullptr || python.dump == nullptr) return PythonState::kUnknown;
    if (python.is_initialized() == 0) return PythonState::kNotRunning;
    return python.has_lock() != 0 ? PythonState::kRunning : PythonState::kNotRunning;
  } catch (...) {
    return PythonState::kUnknown;
  }
}

bool BackwardRunsIn(std::string_view stack, std::initializer_list<std::string_view> words) {
  // PyTorch's function that starts a backward pass: what it was called by does not count.
  const std::string_view called = stack.substr(0, stack.find(" in _engine_run_backward"));
  return std::ranges::any_of(words, [called](std::string_view word) {
    return called.find(word) != std::string_view::npos;
  });
}

bool BackwardRunsIn(std::initializer_list<std::string_view> words) noexcept {
  try {
    return BackwardRunsIn(StackOfThread(), words);
  } catch (...) {
    return true;
  }
}

}  // namespace eidolon::shim::core
