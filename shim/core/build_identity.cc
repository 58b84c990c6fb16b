#include "shim/core/build_identity.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// The linker puts the headers of its output here.
extern "C" __attribute__((visibility("hidden"), weak)) const ElfW(Ehdr) __ehdr_start;

namespace eidolon::shim::core {
namespace {

constexpr std::size_t Padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// The build id among the notes of a segment.
base::Digest FindIn(const unsigned char* notes, std::size_t bytes) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof(note));
    const std::size_t name = at + sizeof(note);
    const std::size_t content = name + Padded(note.n_namesz);
    if (content + note.n_descsz > bytes) break;
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0) {
      return base::Hash128(notes + content, note.n_descsz);
    }
    at = content + Padded(note.n_descsz);
  }
  return {};
}

}  // namespace

base::Digest BuildIdentity() noexcept {
  const auto* const start = reinterpret_cast<const unsigned char*>(&__ehdr_start);
  if (start == nullptr) return {};
  const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const base::Digest found = FindIn(start + segments[i].p_vaddr, segments[i].p_memsz);
    if (found != base::Digest{}) return found;
  }
  return {};
}

}  // namespace eidolon::shim::core
