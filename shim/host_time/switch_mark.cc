#include "shim/host_time/switch_mark.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {
namespace {

// The begin of struct rseq and struct rseq_cs as the kernel knows them (include/uapi/linux/rseq.h).
struct Area {
  std::uint32_t cpu_id_start;
  std::uint32_t cpu_id;
  std::atomic<std::uint64_t> sequence;
};
struct alignas(32) Sequence {
  std::uint32_t version;
  std::uint32_t flags;
  std::uint64_t start;
  std::uint64_t length;
  std::uint64_t abort;
};

#if defined(__x86_64__)
// A sequence of one byte that nobody executes. The kernel reads the signature in front of the abort
// handler even if the thread is elsewhere.
extern "C" {
[[gnu::visibility("hidden")]] extern const char eidolon_mark_sequence[];
[[gnu::visibility("hidden")]] extern const char eidolon_mark_abort[];
}
asm(R"(
  .pushsection .text.eidolon_mark, "ax", @progbits
  .globl eidolon_mark_sequence
  .hidden eidolon_mark_sequence
  .type eidolon_mark_sequence, @object
eidolon_mark_sequence:
  ud2
  .byte 0x0f, 0xb9, 0x3d
  .long 0x53053053
  .globl eidolon_mark_abort
  .hidden eidolon_mark_abort
  .type eidolon_mark_abort, @object
eidolon_mark_abort:
  ud2
  .popsection
)");

constexpr std::size_t kUnknown = 1;
constexpr std::size_t kNone = 0;
// Offset of the area from the thread pointer; never 0 or 1, as the area is aligned to 32 bytes.
constinit std::atomic<std::size_t> area_offset{kUnknown};

std::size_t FindArea() noexcept {
  const auto* offset = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  const bool registered = offset != nullptr && size != nullptr && *size != 0;
  const std::size_t found = registered ? static_cast<std::size_t>(*offset) : kNone;
  area_offset.store(found, std::memory_order_relaxed);
  return found;
}

Area* OwnArea() noexcept {
  std::size_t offset = area_offset.load(std::memory_order_relaxed);
  if (offset == kUnknown) offset = FindArea();
  if (offset == kNone) return nullptr;
  return reinterpret_cast<Area*>(static_cast<char*>(__builtin_thread_pointer()) +
                                 static_cast<std::ptrdiff_t>(offset));
}

std::uint64_t NeverEntered() noexcept {
  static const Sequence sequence{
      .version = 0,
      .flags = 0,
      .start = reinterpret_cast<std::uint64_t>(eidolon_mark_sequence),
      .length = 1,
      .abort = reinterpret_cast<std::uint64_t>(eidolon_mark_abort),
  };
  return reinterpret_cast<std::uint64_t>(&sequence);
}
#else
Area* OwnArea() noexcept { return nullptr; }
std::uint64_t NeverEntered() noexcept { return 0; }
#endif

}  // namespace

void SetSwitchMark() noexcept {
  if (Area* area = OwnArea()) area->sequence.store(NeverEntered(), std::memory_order_relaxed);
}

bool WasSwitched() noexcept {
  const Area* area = OwnArea();
  return area != nullptr && area->sequence.load(std::memory_order_relaxed) == 0;
}

bool MarksWork() noexcept { return OwnArea() != nullptr; }

}  // namespace eidolon::shim::host_time
