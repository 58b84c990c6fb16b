// Finds where the calling thread's Python program is: the file and line of its innermost frame
// outside of PyTorch itself.
//
// PyTorch gives the interpreter's lock away before it copies, and taking it here could deadlock, so
// the frames are read as fault handlers read them: by the interpreter's own function for signal
// handlers, which takes no lock, allocates nothing and changes no object. The thread's frames stay
// where they are while it is in this call. An interpreter that does not export the function, or a
// thread that runs no Python, gives no line.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace eidolon::shim::core {

inline constexpr std::size_t kLineBytesMax = 160;
inline constexpr std::size_t kFunctionBytesMax = 72;

// "folder/train.py:40", the end of a path that is too long; empty: not to be had. Some ten
// microseconds and more, by the depth of the stack. Thread safe.
std::string PythonLine() noexcept;
// The same with the function: "folder/train.py:40 in step".
std::string PythonPlace() noexcept;

// Returns whether one of these functions of PyTorch is among the innermost frames, which are
// PyTorch's own.
bool TorchRuns(std::initializer_list<std::string_view> functions) noexcept;
bool TorchRuns(std::string_view stack, std::initializer_list<std::string_view> functions);

// Whether the calling thread may run Python code just now: it has the interpreter's lock.
enum class PythonState { kNotRunning, kRunning, kUnknown };
PythonState PythonOfThread() noexcept;

// Returns whether a frame of the calling thread, of those that a backward pass has called, is of a
// file whose path holds one of these words. As slow as PythonLine. Requires: PythonOfThread is
// kRunning.
bool BackwardRunsIn(std::initializer_list<std::string_view> words) noexcept;
// The same of a text of the interpreter.
bool BackwardRunsIn(std::string_view stack, std::initializer_list<std::string_view> words);

// The calling thread's state in the interpreter; null: it runs no Python, or that is not to be had.
void* PythonThread() noexcept;

// Returns whether the interpreter exports the function for the text of a stack. Without it,
// PythonLine and PythonPlace are empty.
bool HasStackText() noexcept;

// Returns whether a file is one of PyTorch, in the program's environment.
bool IsTorch(std::string_view file);
struct PythonFrameText {
  std::string_view path;
  int line = 0;
  std::string_view function;
};
// Formats the place as PythonPlace does.
std::string PlaceOfFrame(const PythonFrameText& frame);

// Parses the interpreter's own text: " File "/a/b.py", line 12 in step" and more such lines,
// innermost first.
std::string LineOf(std::string_view stack);
std::string PlaceOf(std::string_view stack);

}  // namespace eidolon::shim::core
