// A kernel needs its code, the constant banks that the compiler fills, and addresses of variables.
// Variables get addresses behind all pointers of a launch, each section apart, so that accesses to
// them count as regions of their own. Translation is lenient, since what an instruction computes
// matters less here than that it is counted.
#include "services/timing/count/kernel_code.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/machine_code/cubin/attributes.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/lenient.h"
#include "services/machine_code/sass/dialect.h"

namespace eidolon::timing::count {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Variables lie here: behind all pointers of a launch (launch_memory.h).
constexpr std::uint64_t kVariables = std::uint64_t{0x7c} << 40;
constexpr std::uint64_t kSectionBytes = std::uint64_t{1} << 32;

std::vector<std::byte> Relocated(const cubin::Program& program, std::uint32_t section) {
  const cubin::Bytes content = program.sections[section].content;
  std::vector<std::byte> bytes(content.begin(), content.end());
  for (const cubin::Relocation& relocation : program.relocations) {
    if (relocation.section != section || relocation.type != cubin::kRelocation64) continue;
    if (bytes.size() < 8 || relocation.offset > bytes.size() - 8) continue;
    const cubin::ProgramSymbol& symbol = program.symbols[relocation.symbol];
    const std::uint64_t address = kVariables + symbol.section % 64 * kSectionBytes + symbol.value +
                                  static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(bytes.data() + relocation.offset, &address, 8);
  }
  return bytes;
}

// Requires: translated.
void SetIndirectTargets(const cubin::Program& sections, std::string_view name,
                        interpret::Program& program) {
  const auto info = sections.FindSection(StrCat(".nv.info.", name));
  if (!info) return;
  for (auto& [at, targets] : cubin::ReadIndirectBranches(sections.sections[*info].content)) {
    for (std::uint32_t& target : targets) target /= sass::kWordBytes;
    std::erase_if(targets, [&](std::uint32_t target) { return target >= program.steps.size(); });
    if (!targets.empty()) program.indirect_targets[at / sass::kWordBytes] = std::move(targets);
  }
}

}  // namespace

base::Result<KernelCode> ReadKernelCode(cubin::Bytes cubin, std::string_view name) {
  const auto code = cubin::ParseCubin(cubin);
  if (!code) return std::unexpected(code.error());
  const auto dialect = sass::DialectOf(code->target.architecture);
  if (!dialect) return Fail(ErrorCode::kUnsupported, StrCat("code for ", Name(code->target)));
  const auto sections = cubin::ParseProgram(cubin);
  if (!sections) return std::unexpected(sections.error());
  const auto function = std::ranges::find(code->functions, name, &cubin::Function::name);
  const auto text = sections->FindSection(StrCat(".text.", name));
  if (function == code->functions.end() || !text) {
    return Fail(ErrorCode::kNotFound, StrCat("no kernel '", name, "' in the code"));
  }
  KernelCode result;
  result.architecture = code->target.architecture;
  interpret::Program& program = result.program;
  program.name = name;
  program.dialect = *dialect;
  program.parameter_base = function->parameter_base;
  program.local_bytes = function->local_bytes;
  program.registers = function->registers;
  program.static_shared_bytes = function->static_shared_bytes;
  for (const auto& [bank, section] :
       {std::pair(2u, StrCat(".nv.constant2.", name)), std::pair(3u, std::string(".nv.constant3")),
        std::pair(4u, std::string(".nv.constant4"))}) {
    if (const auto index = sections->FindSection(section)) {
      program.banks[bank] = Relocated(*sections, *index);
    }
  }
  result.passed_over = interpret::TranslateLeniently(sections->sections[*text].content, program);
  SetIndirectTargets(*sections, name, program);
  return result;
}

}  // namespace eidolon::timing::count
