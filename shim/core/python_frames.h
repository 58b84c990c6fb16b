// The calling thread's innermost Python frame outside of PyTorch, read from the interpreter's own
// structures. The interpreter's text of a stack (python_line.h) takes dozens of system calls.
//
// Where things lie is known of CPython 3.11 to 3.13. It is not taken for granted: the first places
// are read through the kernel, which refuses addresses that are none, and compared with the text
// (of which 3.13 exports none);
// every object that is met must have the type that it should have. What does not fit ends this way
// of reading for the process, and the text is read as before. The thread's frames stay where they
// are while it is in this call; nothing is allocated in the interpreter and no object is changed,
// so that its lock is not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace eidolon::shim::core {

// Byte offsets in CPython's structures.
struct FrameLayout {
  std::size_t thread_frame = 0;                // In a thread's state: its frame, or
  std::optional<std::size_t> frame_of_cframe;  // what leads to it, where there is such a thing.
  std::size_t code = 0;                        // In a frame.
  std::size_t previous = 0;
  std::size_t instruction = 0;
  std::size_t owner = 0;
  std::size_t file = 0;  // In a code object.
  std::size_t name = 0;
  std::size_t first_line = 0;
  std::size_t instructions = 0;
  std::size_t type = 0;  // In any object.
};

// Functions and objects of the interpreter.
struct FrameInterface {
  FrameLayout layout;
  int (*line_of)(void* code, int address) = nullptr;  // PyCode_Addr2Line.
  std::ptrdiff_t (*length_of)(void* text) = nullptr;  // PyUnicode_GetLength.
  std::uint32_t (*character_of)(void* text, std::ptrdiff_t index) = nullptr;  // PyUnicode_ReadChar.
  const void* code_type = nullptr;                                            // PyCode_Type.
  const void* text_type = nullptr;                                            // PyUnicode_Type.
};

// A place of the program: an instruction in one of its code objects, by a number of ours. {}: the
// thread runs no Python outside of PyTorch.
struct PythonPlaceKey {
  std::uint64_t code = 0;
  int address = 0;
  bool operator==(const PythonPlaceKey&) const = default;
};

// Thread safe.
class PythonFrames {
 public:
  explicit PythonFrames(const FrameInterface& interface) : interface_(interface) {}

  // Finds the innermost place of a thread's state. Nothing: this does not read; ask for the text.
  std::optional<PythonPlaceKey> Find(const void* thread);
  // Describes the place in the words of PlaceOf (python_line.h). Nothing: as above. Requires: Find
  // gave it.
  std::optional<std::string> Describe(const PythonPlaceKey& place);
  // Compares the interpreter's text with a place that was described. It ends this way of reading if
  // it differs.
  void Compare(const std::string& described, const std::string& text);

  // Returns whether frames are read; for tests.
  bool reads() const { return reads_; }

 private:
  struct Code {
    std::uint64_t number = 0;
    std::uint64_t address = 0;
    // Fields that show that it is still the same object.
    std::uint64_t file = 0;
    std::uint64_t name = 0;
    std::uint32_t first_line = 0;
    bool is_torch = false;
    std::string path;
    std::string function;
  };

  template <typename T>
  bool Load(std::uint64_t address, T* value) const;
  bool HasType(std::uint64_t object, const void* type) const;
  std::optional<std::string> TextOf(std::uint64_t object) const;
  std::optional<PythonPlaceKey> FindLocked(const void* thread);
  Code* KnownCode(std::uint64_t address);

  const FrameInterface interface_;
  std::mutex mutex_;  // Guards what follows.
  bool reads_ = true;
  int agreed_ = 0;                                 // Places that were as the text has them.
  std::unordered_map<std::uint64_t, Code> codes_;  // By address.
  std::unordered_map<std::uint64_t, std::uint64_t> addresses_;  // Of codes, by number.
  std::uint64_t last_number_ = 0;
};

struct PythonPlaceHash {
  std::size_t operator()(const PythonPlaceKey& place) const {
    return std::hash<std::uint64_t>{}(place.code << 20 ^ static_cast<std::uint64_t>(place.address));
  }
};

// Returns the frames of this process's interpreter; null where its structures are not known.
PythonFrames* ProgramFrames() noexcept;

}  // namespace eidolon::shim::core
