// The ELF frame of a cubin: its sections, checked to lie inside the file.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"

namespace eidolon::cubin {

constexpr std::uint16_t kMachineCuda = 190;  // EM_CUDA.

struct ElfSection {
  std::string_view name;
  Elf64_Shdr header;
  Bytes content;  // Empty for NOBITS.
};

struct ElfFile {
  Elf64_Ehdr header;
  std::vector<ElfSection> sections;
};

// The views point into the bytes.
base::Result<ElfFile> ParseElf(Bytes bytes);

}  // namespace eidolon::cubin
