// How many Python functions a thread ran since its last call of ours, by which the counted host
// model knows what a program does between two calls (hooks, loops over parameters, wrappers).
//
// The interpreter lets a process stand before the evaluation of its frames (PEP 523). What waits
// for other threads and processes, imports or compiles is not counted, nor what it calls: how often
// a wait looks depends on the machine that simulates, the rest on what caches on disk hold. Whether
// a function is of these is kept with its code object, in a place that PEP 523 has for that.
//
// Counts are the thread's own. The interpreter's lock is held wherever its functions are called.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace eidolon::shim::core {

// As CPython declares them; objects of the interpreter are opaque.
using EvaluateFrame = void* (*)(void* thread, void* frame, int throws);

struct Evaluation {
  EvaluateFrame (*current)(void* interpreter) = nullptr;  // _PyInterpreterState_GetEvalFrameFunc.
  void (*replace)(void* interpreter, EvaluateFrame) = nullptr;  // _PyInterpreterState_Set...
  EvaluateFrame own = nullptr;                                  // _PyEval_EvalFrameDefault.
  void* (*interpreter)() = nullptr;                             // PyInterpreterState_Get.
  void* (*code_of)(void* frame) = nullptr;                      // Borrowed.
  int (*get_note)(void* code, std::int64_t index, void** note) = nullptr;  // _PyCode_GetExtra.
  int (*set_note)(void* code, std::int64_t index, void* note) = nullptr;   // _PyCode_SetExtra.
  std::int64_t note = -1;  // _PyEval_RequestCodeExtraIndex.
  // True if a code object is one whose work does not count.
  bool (*is_left_out)(void* code) = nullptr;
  // As FrameObserver::choose, of a code object.
  std::uint8_t (*choose)(void* code) = nullptr;
};

// Sees some functions begin and end, on the thread that runs them; the interpreter's lock is held.
// Functions of Python that an observer runs do not count.
struct FrameObserver {
  // Returns a number for a function to observe, by its file and its name; 0: any other.
  std::uint8_t (*choose)(std::string_view file, std::string_view function) = nullptr;
  // The thread's current frame is still that of the caller.
  void (*begin)(std::uint8_t function) = nullptr;
  // `result`: borrowed; null: the function raised an exception, which is set.
  void (*end)(std::uint8_t function, void* result) = nullptr;
};

namespace internal {
struct FrameCount {
  std::uint64_t ran;
  std::uint64_t taken;  // Of these; never more.
};
[[gnu::tls_model("initial-exec")]] inline constinit thread_local FrameCount frame_count{};
inline constinit std::atomic<const FrameObserver*> frame_observer{nullptr};
}  // namespace internal

// Those of the calling thread since it last asked.
inline std::uint64_t TakeFrames() noexcept {
  internal::FrameCount& count = internal::frame_count;
  return count.ran - std::exchange(count.taken, count.ran);
}

// Begins to count if this process runs Python, this thread holds the interpreter's lock, and nobody
// else stands before its frames at the moment (torch.compile does while a compiled function runs);
// or else the next call tries again. Quick once it counts. An interpreter whose functions cannot be
// counted (before CPython 3.11, or without its lock) is named on stderr, once.
void CountFrames() noexcept;

// Counts frames of that interpreter from now on, for tests.
void CountFramesOf(const Evaluation& evaluation) noexcept;

// Observes frames from now on, where they are counted. The observer lives as long as the process.
inline void ObserveFrames(const FrameObserver* observer) noexcept {
  internal::frame_observer.store(observer, std::memory_order_release);
}

// Returns whether a function's work is left out, by its file and its name.
bool IsLeftOut(std::string_view file, std::string_view function);

}  // namespace eidolon::shim::core
