#include "services/machine_code/cubin/elf_file.h"

#include <cstring>

#include "services/base/text.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

}  // namespace

base::Result<ElfFile> ParseElf(Bytes bytes) {
  const auto header = ReadAt<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return Fail(ErrorCode::kCorrupt, "not an ELF file");
  }
  if (header->e_machine != kMachineCuda || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("ELF file of machine type ", header->e_machine, ", not a 64-bit cubin"));
  }
  if (header->e_shnum != 0 && header->e_shentsize != sizeof(Elf64_Shdr)) {
    return Fail(ErrorCode::kCorrupt, "cubin with section headers of unknown size");
  }
  ElfFile elf{.header = *header, .sections = {}};
  for (std::uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto section = ReadAt<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return Fail(ErrorCode::kCorrupt, StrCat("cubin ends before section ", i));
    Bytes content;
    if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL) {
      const auto slice = Slice(bytes, section->sh_offset, section->sh_size);
      if (!slice) return Fail(ErrorCode::kCorrupt, StrCat("cubin ends inside section ", i));
      content = *slice;
    }
    elf.sections.push_back({.name = {}, .header = *section, .content = content});
  }
  if (header->e_shstrndx >= elf.sections.size()) {
    return Fail(ErrorCode::kCorrupt, "cubin without a section name table");
  }
  const Bytes names = elf.sections[header->e_shstrndx].content;
  for (ElfSection& section : elf.sections) section.name = TextAt(names, section.header.sh_name);
  return elf;
}

}  // namespace eidolon::cubin
