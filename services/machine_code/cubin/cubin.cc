// The symbol table leads: a flag in st_other separates kernels and device functions, which have
// .text sections too. Sections that belong to a kernel are found by its name. The file-wide
// attribute list names functions by the index of their symbol, hence it is applied last, over the
// register count of the kernel's own section, where older compilers keep it. The code that is
// returned consists of views into the file's bytes; nothing is copied. ParseCubin checks every
// offset. CubinBytes cannot, because its caller has a pointer without a length, as cuModuleLoadData
// does.
#include "services/machine_code/cubin/cubin.h"

#include <elf.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "services/base/text.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/cubin/attributes.h"
#include "services/machine_code/cubin/elf_file.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr unsigned char kKernelFlag = 0x10;  // st_other of functions that can be launched.
// From 9.0 on a kernel's shared section begins with the part that the system keeps for itself.
constexpr std::uint32_t kFirstReserved = 90;

// ABI 7 keeps the architecture in the low byte of the flags, ABI 8 in the second one.
std::uint32_t ArchitectureOf(const Elf64_Ehdr& header) {
  constexpr unsigned char kShiftedAbi = 8;
  const std::uint32_t flags = header.e_flags;
  return header.e_ident[EI_ABIVERSION] >= kShiftedAbi ? (flags >> 8) & 0xff : flags & 0xff;
}

using SectionsByName = std::unordered_map<std::string_view, const ElfSection*>;

class Reader {
 public:
  explicit Reader(const ElfFile& elf) : elf_(elf) {
    for (const ElfSection& section : elf.sections) {
      if (section.header.sh_type == SHT_SYMTAB) symbols_ = &section;
      by_name_.emplace(section.name, &section);
    }
    code_.target.architecture = ArchitectureOf(elf.header);
  }

  base::Result<Code> Read() {
    if (symbols_ == nullptr) return code_;
    if (symbols_->header.sh_link >= elf_.sections.size()) {
      return Fail(ErrorCode::kCorrupt, "cubin's symbol table names no string table");
    }
    const Bytes names = elf_.sections[symbols_->header.sh_link].content;
    const std::size_t count = symbols_->content.size() / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      const auto symbol = ReadAt<Elf64_Sym>(symbols_->content, i * sizeof(Elf64_Sym));
      const std::string_view name = TextAt(names, symbol->st_name);
      if (name.empty()) continue;
      if (auto done = AddSymbol(*symbol, static_cast<std::uint32_t>(i), name); !done) {
        return std::unexpected(std::move(done.error()));
      }
    }
    AddLinkedAttributes();
    return std::move(code_);
  }

 private:
  static std::unexpected<base::Error> TooLarge(std::string_view section) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("section ", section, " is larger than any architecture allows"));
  }

  base::Result<void> AddSymbol(const Elf64_Sym& symbol, std::uint32_t index,
                               std::string_view name) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf_.sections.size()) return {};
    const ElfSection& home = elf_.sections[symbol.st_shndx];
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_OBJECT && symbol.st_size != 0) {
      const bool constant = home.name == ".nv.constant3";
      if (constant || home.name.starts_with(".nv.global")) {
        code_.variables.push_back({.name = name, .bytes = symbol.st_size, .constant = constant});
        if (constant && home.header.sh_size > kLargestMemory) return TooLarge(home.name);
        if (constant) code_.constant_bytes = static_cast<std::uint32_t>(home.header.sh_size);
      }
    }
    if (type != STT_FUNC || !(symbol.st_other & kKernelFlag)) return {};
    return AddFunction(home, index, name);
  }

  base::Result<void> AddFunction(const ElfSection& text, std::uint32_t index,
                                 std::string_view name) {
    Function function;
    function.name = name;
    function.registers = text.header.sh_info >> 24;  // Where older compilers keep it.
    if (const ElfSection* info = FindSection(".nv.info.", name)) {
      if (auto done = ReadFunctionAttributes(info->content, function); !done) {
        return base::Wrap(StrCat("kernel ", name), std::move(done.error()));
      }
    }
    if (const ElfSection* shared = FindSection(".nv.shared.", name)) {
      if (shared->header.sh_size > kLargestMemory) return TooLarge(shared->name);
      function.static_shared_bytes = static_cast<std::uint32_t>(shared->header.sh_size);
      if (code_.target.architecture >= kFirstReserved) {
        function.static_shared_bytes -=
            std::min(function.static_shared_bytes, machine::kReservedSharedBytes);
      }
    }
    function_of_symbol_.emplace(index, code_.functions.size());
    code_.functions.push_back(std::move(function));
    return {};
  }

  const ElfSection* FindSection(std::string_view prefix, std::string_view name) {
    section_name_.assign(prefix).append(name);
    const auto found = by_name_.find(section_name_);
    return found == by_name_.end() ? nullptr : found->second;
  }

  void AddLinkedAttributes() {
    const auto found = by_name_.find(".nv.info");
    if (found == by_name_.end()) return;
    for (const LinkedAttribute& linked : ReadLinkedAttributes(found->second->content)) {
      const auto at = function_of_symbol_.find(linked.symbol);
      if (at == function_of_symbol_.end()) continue;
      Function& function = code_.functions[at->second];
      if (linked.registers) function.registers = *linked.registers;
      if (linked.stack_bytes) function.local_bytes = *linked.stack_bytes;
    }
  }

  const ElfFile& elf_;
  const ElfSection* symbols_ = nullptr;
  SectionsByName by_name_;
  std::unordered_map<std::uint32_t, std::size_t> function_of_symbol_;
  std::string section_name_;
  Code code_;
};

}  // namespace

base::Result<Code> ParseCubin(Bytes bytes) {
  const auto elf = ParseElf(bytes);
  if (!elf) return std::unexpected(elf.error());
  return Reader(*elf).Read();
}

std::optional<std::uint64_t> CubinBytes(const void* start) {
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header.e_machine != kMachineCuda) return std::nullopt;
  std::uint64_t end = sizeof(header);
  end = std::max(end, header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  const auto* sections = static_cast<const std::byte*>(start) + header.e_shoff;
  for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, sections + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_NOBITS) continue;
    end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace eidolon::cubin
