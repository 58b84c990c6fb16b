#include "services/machine_code/cubin/program.h"

#include <utility>

#include "services/base/text.h"
#include "services/machine_code/cubin/elf_file.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

void ReadSymbols(const ElfFile& elf, const ElfSection& table, Program& program) {
  const Bytes names = table.header.sh_link < elf.sections.size()
                          ? elf.sections[table.header.sh_link].content
                          : Bytes();
  const std::size_t count = table.content.size() / sizeof(Elf64_Sym);
  for (std::size_t i = 0; i < count; ++i) {
    const auto symbol = *ReadAt<Elf64_Sym>(table.content, i * sizeof(Elf64_Sym));
    const bool defined = symbol.st_shndx < elf.sections.size();
    program.symbols.push_back({.name = TextAt(names, symbol.st_name),
                               .section = defined ? symbol.st_shndx : 0u,
                               .value = symbol.st_value,
                               .bytes = symbol.st_size});
  }
}

base::Result<void> ReadRelocations(const ElfFile& elf, const ElfSection& table, Program& program) {
  const bool with_addend = table.header.sh_type == SHT_RELA;
  const std::size_t step = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  if (table.header.sh_info >= elf.sections.size()) {
    return Fail(ErrorCode::kCorrupt, "relocations of a section that does not exist");
  }
  for (std::size_t at = 0; at + step <= table.content.size(); at += step) {
    const auto entry = *ReadAt<Elf64_Rel>(table.content, at);
    const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info));
    if (symbol >= program.symbols.size()) {
      return Fail(ErrorCode::kCorrupt, StrCat("relocation with symbol ", symbol));
    }
    Relocation relocation{.section = table.header.sh_info,
                          .offset = entry.r_offset,
                          .type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
                          .symbol = symbol};
    if (with_addend) relocation.addend = ReadAt<Elf64_Rela>(table.content, at)->r_addend;
    program.relocations.push_back(relocation);
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> Program::FindSection(std::string_view name) const {
  for (std::uint32_t i = 0; i < sections.size(); ++i) {
    if (sections[i].name == name) return i;
  }
  return std::nullopt;
}

base::Result<Program> ParseProgram(Bytes cubin) {
  const auto elf = ParseElf(cubin);
  if (!elf) return std::unexpected(elf.error());
  Program program;
  for (const ElfSection& section : elf->sections) {
    program.sections.push_back({.name = section.name,
                                .content = section.content,
                                .executable = section.header.sh_type == SHT_PROGBITS &&
                                              (section.header.sh_flags & SHF_EXECINSTR) != 0,
                                .bytes = section.header.sh_size});
    if (section.header.sh_type == SHT_SYMTAB) ReadSymbols(*elf, section, program);
  }
  for (const ElfSection& section : elf->sections) {
    const bool relocates = section.header.sh_type == SHT_REL || section.header.sh_type == SHT_RELA;
    if (!relocates || section.name.find(".debug") != std::string_view::npos) continue;
    if (auto done = ReadRelocations(*elf, section, program); !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  return program;
}

}  // namespace eidolon::cubin
