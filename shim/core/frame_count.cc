// CPython evaluates each frame by one function pointer (PEP 523), which costs far less than a trace
// function that is called for each line. Everything is looked up by name at run time, because the
// shim is not linked against Python and the names differ by version. The pointer is taken only
// while it is CPython's own: torch.compile replaces it too, and frames go on in CPython's own
// function, which would pass another's over.
//
// Frames below one that does not count are dropped with it: the count is set back when that frame
// ends, but not below `taken`, which calls inside of it may have raised.
#include "shim/core/frame_count.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>

#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

// What is kept with a code object; nothing: it was not met before. From kObserved on: the function
// that an observer sees, which counts, too.
enum class Note : std::uintptr_t {
  kNone = 0,
  kUnseen = 1,  // It counts; no observer was registered when it was met.
  kCounts = 2,
  kLeftOut = 3,
  kObserved = 4
};

enum class State : int { kNew, kCounts, kImpossible };

constinit Evaluation evaluation_used{};  // Written once, before the interpreter calls Evaluate.
constinit std::atomic<State> counting{State::kNew};

Note NoteOf(void* frame, int throws) {
  void* const code = evaluation_used.code_of(frame);
  void* kept = nullptr;
  if (evaluation_used.get_note(code, evaluation_used.note, &kept) != 0) return Note::kCounts;
  const auto note = static_cast<Note>(reinterpret_cast<std::uintptr_t>(kept));
  if (note > Note::kUnseen) return note;
  const bool is_observed = internal::frame_observer.load(std::memory_order_acquire) != nullptr;
  // The interpreter may not be asked while an exception is on its way into a generator.
  if ((note == Note::kUnseen && !is_observed) || throws != 0) return note;
  Note found = is_observed ? Note::kCounts : Note::kUnseen;
  if (evaluation_used.is_left_out(code)) {
    found = Note::kLeftOut;
  } else if (const std::uint8_t function = is_observed ? evaluation_used.choose(code) : 0) {
    found = static_cast<Note>(static_cast<std::uintptr_t>(Note::kObserved) + function);
  }
  evaluation_used.set_note(code, evaluation_used.note, reinterpret_cast<void*>(found));
  return found;
}

// Calls the observer, whose own work with the interpreter does not count.
template <typename Call>
void WithoutCounting(Call call) {
  internal::FrameCount& count = internal::frame_count;
  const std::uint64_t before = count.ran;
  call(*internal::frame_observer.load(std::memory_order_acquire));
  count.ran = std::max(before, count.taken);
}

[[gnu::noinline]] void* EvaluateObserved(std::uint8_t function, void* thread, void* frame,
                                         int throws) {
  WithoutCounting([&](const FrameObserver& observer) { observer.begin(function); });
  void* const result = evaluation_used.own(thread, frame, throws);
  WithoutCounting([&](const FrameObserver& observer) { observer.end(function, result); });
  return result;
}

void* Evaluate(void* thread, void* frame, int throws) {
  internal::FrameCount& count = internal::frame_count;
  const Note note = NoteOf(frame, throws);
  if (note != Note::kLeftOut) {
    ++count.ran;
    if (note <= Note::kObserved) return evaluation_used.own(thread, frame, throws);
    const auto function =
        static_cast<std::uintptr_t>(note) - static_cast<std::uintptr_t>(Note::kObserved);
    return EvaluateObserved(static_cast<std::uint8_t>(function), thread, frame, throws);
  }
  const std::uint64_t before = count.ran;
  void* const result = evaluation_used.own(thread, frame, throws);
  count.ran = std::max(before, count.taken);
  return result;
}

// Functions of the interpreter, by the names of its versions.
template <typename Function>
bool FindFirst(Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    if (function != nullptr) return true;
  }
  return false;
}

// The interpreter's functions by which code objects are asked.
struct CodeInterface {
  void* (*attribute)(void* object, const char* name) = nullptr;
  const char* (*text)(void* object) = nullptr;
  void (*release)(void* object) = nullptr;
  void (*clear_error)() = nullptr;
  void* (*new_code_of)(void* frame) = nullptr;  // A new reference; CPython 3.12 and later.
};
constinit CodeInterface frame_objects{};

// In CPython 3.11's frames the code object follows the function and three dictionaries.
constexpr std::ptrdiff_t kCodeIn311 = 32;

void* CodeIn311(void* frame) {
  return *reinterpret_cast<void**>(static_cast<std::byte*>(frame) + kCodeIn311);
}

void* CodeIn312(void* frame) {
  void* const code = frame_objects.new_code_of(frame);
  frame_objects.release(code);  // The frame has its own.
  return code;
}

// Calls `use` with a text of an object; false where it has none.
template <typename Use>
bool WithText(void* object, const char* name, Use use) {
  void* const text = frame_objects.attribute(object, name);
  const char* const bytes = text == nullptr ? nullptr : frame_objects.text(text);
  const bool found = bytes != nullptr && use(std::string_view(bytes));
  if (bytes == nullptr) frame_objects.clear_error();
  if (text != nullptr) frame_objects.release(text);
  return found;
}

// Calls `use` with the file and the name of a code object; false where it has none.
template <typename Use>
bool WithNames(void* code, Use use) {
  return WithText(code, "co_filename", [&](std::string_view file) {
    return WithText(code, "co_name", [&](std::string_view name) { return use(file, name); });
  });
}

bool CodeIsLeftOut(void* code) { return WithNames(code, IsLeftOut); }

std::uint8_t ChooseCode(void* code) {
  std::uint8_t function = 0;
  WithNames(code, [&](std::string_view file, std::string_view name) {
    function = internal::frame_observer.load(std::memory_order_acquire)->choose(file, name);
    return true;
  });
  return function;
}

bool FindObjects(unsigned long version, Evaluation& found) {
  std::int64_t (*request)(void (*release)(void*)) = nullptr;
  const bool all = FindFirst(frame_objects.attribute, {"PyObject_GetAttrString"}) &&
                   FindFirst(frame_objects.text, {"PyUnicode_AsUTF8"}) &&
                   FindFirst(frame_objects.release, {"Py_DecRef"}) &&
                   FindFirst(frame_objects.clear_error, {"PyErr_Clear"}) &&
                   FindFirst(found.get_note, {"PyUnstable_Code_GetExtra", "_PyCode_GetExtra"}) &&
                   FindFirst(found.set_note, {"PyUnstable_Code_SetExtra", "_PyCode_SetExtra"}) &&
                   FindFirst(request, {"PyUnstable_Eval_RequestCodeExtraIndex",
                                       "_PyEval_RequestCodeExtraIndex"});
  if (!all) return false;
  found.is_left_out = CodeIsLeftOut;
  found.choose = ChooseCode;
  if (FindFirst(frame_objects.new_code_of, {"PyUnstable_InterpreterFrame_GetCode"})) {
    found.code_of = CodeIn312;
  } else if (version >> 16 == 0x030b) {
    found.code_of = CodeIn311;
  } else {
    return false;
  }
  found.note = request(nullptr);
  return found.note >= 0;
}

// Nothing is counted without knowing what to leave out, nor where threads run side by side.
State FindInterpreter(Evaluation& found) {
  const unsigned long* version = nullptr;
  const char* (*describe)() = nullptr;
  const bool all = FindFirst(found.current, {"_PyInterpreterState_GetEvalFrameFunc"}) &&
                   FindFirst(found.replace, {"_PyInterpreterState_SetEvalFrameFunc"}) &&
                   FindFirst(found.own, {"_PyEval_EvalFrameDefault"}) &&
                   FindFirst(found.interpreter, {"PyInterpreterState_Get"}) &&
                   FindFirst(version, {"Py_Version"}) && FindFirst(describe, {"Py_GetVersion"});
  if (!all || std::string_view(describe()).find("free-threading") != std::string_view::npos) {
    return State::kImpossible;
  }
  return FindObjects(*version, found) ? State::kCounts : State::kImpossible;
}

bool Replace(const Evaluation& evaluation) {
  void* const interpreter = evaluation.interpreter();
  if (evaluation.current(interpreter) != evaluation.own) return false;
  evaluation_used = evaluation;
  evaluation.replace(interpreter, Evaluate);
  return true;
}

[[gnu::noinline, gnu::cold]] void Begin() {
  using HasLock = int (*)();
  static const auto has_lock = reinterpret_cast<HasLock>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  if (has_lock == nullptr) {
    counting.store(State::kImpossible, std::memory_order_relaxed);
    return;
  }
  if (has_lock() == 0) return;
  // The lock of the interpreter is that of these, too.
  static Evaluation found{};
  static const State possible = FindInterpreter(found);
  if (possible == State::kCounts && !Replace(found)) return;
  if (possible == State::kImpossible) {
    WriteToStderr(
        "eidolon: functions of this Python cannot be counted, which hostModel.kind counted needs "
        "(CPython 3.11 or later, not a free-threaded build): only calls and operators cost time\n");
  }
  counting.store(possible, std::memory_order_relaxed);
}

// Files whose functions wait for others, by the end of their paths.
constexpr std::array<std::string_view, 4> kWaitingFiles = {"/queue.py", "/threading.py",
                                                           "/selectors.py", "/subprocess.py"};
constexpr std::array<std::string_view, 7> kLeftOutParts = {
    "/multiprocessing/",           "/concurrent/futures/", "/asyncio/",
    "<frozen importlib",           "<frozen zipimport",    "/torch/_dynamo/convert_frame.py",
    "/triton/compiler/compiler.py"};

}  // namespace

bool IsLeftOut(std::string_view file, std::string_view function) {
  if (file.ends_with("/torch/utils/data/dataloader.py")) return function == "_get_data";
  return std::ranges::any_of(kWaitingFiles,
                             [file](std::string_view end) { return file.ends_with(end); }) ||
         std::ranges::any_of(kLeftOutParts, [file](std::string_view part) {
           return file.find(part) != std::string_view::npos;
         });
}

void CountFrames() noexcept {
  if (counting.load(std::memory_order_relaxed) == State::kNew) Begin();
}

void CountFramesOf(const Evaluation& evaluation) noexcept {
  if (Replace(evaluation)) counting.store(State::kCounts, std::memory_order_relaxed);
}

}  // namespace eidolon::shim::core
