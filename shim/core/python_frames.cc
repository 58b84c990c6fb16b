// The offsets are those of CPython's internal headers on 64-bit machines. They are private and may
// differ in a vendor's build, so nothing is trusted at first: reads go through process_vm_readv,
// which fails where a plain read would end the process, types of objects are compared, and two
// results have to agree with the interpreter's own text, where it exports one. From then on reads
// are plain copies. A code object is identified by its address and three of its fields, because an
// address is reused after the object was freed: then it gets a new number, and a place with an old
// number is no longer found. Any doubt ends in "nothing", and the caller asks for the text.
#include "shim/core/python_frames.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "shim/core/python_line.h"

namespace eidolon::shim::core {
namespace {

constexpr int kAgreedMin = 2;    // Until then memory is read through the kernel.
constexpr int kFramesMax = 100;  // That are walked through, as the interpreter does for its text.
constexpr std::size_t kCodesMax = 1 << 16;
constexpr std::ptrdiff_t kTextMax = 500;  // What the interpreter's text cuts.
// Frames that the interpreter's C code owns have no code of the program (_frameowner).
constexpr std::uint8_t kOwnedByC = 3;

constexpr FrameLayout kPython311{.thread_frame = 56,
                                 .frame_of_cframe = 8,
                                 .code = 32,
                                 .previous = 48,
                                 .instruction = 56,
                                 .owner = 69,
                                 .file = 112,
                                 .name = 120,
                                 .first_line = 72,
                                 .instructions = 184,
                                 .type = 8};
constexpr FrameLayout kPython312{.thread_frame = 56,
                                 .frame_of_cframe = 0,
                                 .code = 0,
                                 .previous = 8,
                                 .instruction = 56,
                                 .owner = 70,
                                 .file = 112,
                                 .name = 120,
                                 .first_line = 68,
                                 .instructions = 192,
                                 .type = 8};
constexpr FrameLayout kPython313{.thread_frame = 72,
                                 .frame_of_cframe = std::nullopt,
                                 .code = 0,
                                 .previous = 8,
                                 .instruction = 56,
                                 .owner = 70,
                                 .file = 112,
                                 .name = 120,
                                 .first_line = 68,
                                 .instructions = 200,
                                 .type = 8};

bool ReadThroughKernel(std::uint64_t address, void* to, std::size_t bytes) {
  iovec local{.iov_base = to, .iov_len = bytes};
  iovec remote{.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <typename Symbol>
bool FindSymbol(const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
  return symbol != nullptr;
}

// Another build of the interpreter, without its lock, has other structures.
std::optional<FrameLayout> LayoutOfInterpreter() {
  const unsigned long* version = nullptr;
  const char* (*describe)() = nullptr;
  if (!FindSymbol("Py_Version", version) || !FindSymbol("Py_GetVersion", describe))
    return std::nullopt;
  if (std::string_view(describe()).find("free-threading") != std::string_view::npos) {
    return std::nullopt;
  }
  switch (*version >> 16) {
    case 0x030b:
      return kPython311;
    case 0x030c:
      return kPython312;
    case 0x030d:
      return kPython313;
    default:
      return std::nullopt;
  }
}

PythonFrames* MakeProgramFrames() {
  const auto layout = LayoutOfInterpreter();
  if (!layout) return nullptr;
  FrameInterface interface;
  interface.layout = *layout;
  const bool found = FindSymbol("PyCode_Addr2Line", interface.line_of) &&
                     FindSymbol("PyUnicode_GetLength", interface.length_of) &&
                     FindSymbol("PyUnicode_ReadChar", interface.character_of) &&
                     FindSymbol("PyCode_Type", interface.code_type) &&
                     FindSymbol("PyUnicode_Type", interface.text_type);
  return found ? new PythonFrames(interface) : nullptr;  // Never destroyed.
}

}  // namespace

template <typename T>
bool PythonFrames::Load(std::uint64_t address, T* value) const {
  if (agreed_ < kAgreedMin) return ReadThroughKernel(address, value, sizeof(*value));
  std::memcpy(value, reinterpret_cast<const void*>(address), sizeof(*value));
  return true;
}

bool PythonFrames::HasType(std::uint64_t object, const void* type) const {
  std::uint64_t found = 0;
  return object != 0 && Load(object + interface_.layout.type, &found) &&
         found == reinterpret_cast<std::uint64_t>(type);
}

// Nothing for what the interpreter's text shows in another way.
std::optional<std::string> PythonFrames::TextOf(std::uint64_t object) const {
  if (!HasType(object, interface_.text_type)) return std::nullopt;
  auto* const text = reinterpret_cast<void*>(object);
  const std::ptrdiff_t length = interface_.length_of(text);
  if (length < 0 || length > kTextMax) return std::nullopt;
  std::string found;
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    const std::uint32_t c = interface_.character_of(text, i);
    if (c < ' ' || c > '~') return std::nullopt;
    found += static_cast<char>(c);
  }
  return found;
}

// An address may hold another code object than before: its number is then another, too.
PythonFrames::Code* PythonFrames::KnownCode(std::uint64_t address) {
  const FrameLayout& layout = interface_.layout;
  Code seen;
  seen.address = address;
  if (!HasType(address, interface_.code_type) || !Load(address + layout.file, &seen.file) ||
      !Load(address + layout.name, &seen.name) ||
      !Load(address + layout.first_line, &seen.first_line)) {
    return nullptr;
  }
  const auto known = codes_.find(address);
  if (known != codes_.end() && known->second.file == seen.file && known->second.name == seen.name &&
      known->second.first_line == seen.first_line) {
    return &known->second;
  }
  auto path = TextOf(seen.file);
  auto function = TextOf(seen.name);
  if (!path || !function || codes_.size() >= kCodesMax) return nullptr;
  seen.number = ++last_number_;
  seen.is_torch = IsTorch(*path);
  seen.path = std::move(*path);
  seen.function = std::move(*function);
  if (known != codes_.end()) addresses_.erase(known->second.number);
  addresses_[seen.number] = address;
  return &(codes_[address] = std::move(seen));
}

std::optional<PythonPlaceKey> PythonFrames::FindLocked(const void* thread) {
  const FrameLayout& layout = interface_.layout;
  std::uint64_t frame = 0;
  if (!Load(reinterpret_cast<std::uint64_t>(thread) + layout.thread_frame, &frame)) {
    return std::nullopt;
  }
  if (layout.frame_of_cframe && (frame == 0 || !Load(frame + *layout.frame_of_cframe, &frame))) {
    return std::nullopt;
  }
  for (int i = 0; i < kFramesMax && frame != 0; ++i) {
    std::uint64_t code = 0;
    std::uint64_t instruction = 0;
    std::uint64_t previous = 0;
    std::uint8_t owner = 0;
    if (!Load(frame + layout.code, &code) || !Load(frame + layout.instruction, &instruction) ||
        !Load(frame + layout.previous, &previous) || !Load(frame + layout.owner, &owner)) {
      return std::nullopt;
    }
    frame = previous;
    if (owner >= kOwnedByC) continue;
    const Code* const known = KnownCode(code);
    if (known == nullptr) return std::nullopt;
    if (known->is_torch) continue;
    return PythonPlaceKey{.code = known->number,
                          .address = static_cast<int>(instruction - code - layout.instructions)};
  }
  return PythonPlaceKey{};
}

std::optional<PythonPlaceKey> PythonFrames::Find(const void* thread) {
  const std::lock_guard guard(mutex_);
  return reads_ ? FindLocked(thread) : std::nullopt;
}

std::optional<std::string> PythonFrames::Describe(const PythonPlaceKey& place) {
  if (place == PythonPlaceKey{}) return "";
  const std::lock_guard guard(mutex_);
  const auto address = addresses_.find(place.code);
  if (address == addresses_.end()) return std::nullopt;
  const Code& code = codes_.at(address->second);
  const int line = interface_.line_of(reinterpret_cast<void*>(code.address), place.address);
  if (line < 0) return std::nullopt;
  return PlaceOfFrame({.path = code.path, .line = line, .function = code.function});
}

void PythonFrames::Compare(const std::string& described, const std::string& text) {
  const std::lock_guard guard(mutex_);
  if (described == text) {
    ++agreed_;
  } else {
    reads_ = false;
  }
}

PythonFrames* ProgramFrames() noexcept {
  try {
    static PythonFrames* const frames = MakeProgramFrames();
    return frames;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace eidolon::shim::core
