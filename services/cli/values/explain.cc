// A file may be a cubin or a library with many fat binaries, each of which holds code for several
// devices. The code for the device in question is chosen (FatBinary::Choose), as another device's
// would explain code that never runs. The magic number may occur in other data by chance: what does
// not parse there is skipped by four bytes. The first kernel that matches is explained and the
// others are listed, so a pattern can be made longer. PTX is passed over, as it is not what is
// interpreted.
#include "services/cli/values/explain.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/program.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::cli::values {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr std::size_t kMostNames = 20;

struct Found {
  std::string report;
  std::vector<std::string> others;
};

std::string Hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(number));
  return text;
}

std::string Disassembly(std::span<const std::byte> code, sass::Dialect dialect) {
  std::string text;
  for (std::size_t at = 0; at + sass::kWordBytes <= code.size(); at += sass::kWordBytes) {
    sass::Word word;
    std::memcpy(&word, code.data() + at, sizeof(word));
    char address[16];
    std::snprintf(address, sizeof(address), "%06zx  ", at);
    text += StrCat(address, sass::Print(word, at, dialect), "\n");
  }
  return text;
}

std::string Report(const cubin::Function& function, std::span<const std::byte> code,
                   cubin::Target target, bool with_code) {
  interpret::Program program;
  program.dialect = *sass::DialectOf(target.architecture);
  const auto translated = interpret::Translate(code, program);
  std::string text =
      StrCat("kernel         ", function.name, "\n", "code for       ", Name(target), "\n",
             "instructions   ", code.size() / sass::kWordBytes, "\n", "registers      ",
             function.registers, "\n", "shared memory  ", function.static_shared_bytes, " bytes\n",
             "local memory   ", function.local_bytes, " bytes a thread\n");
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const cubin::Parameter& parameter = function.parameters[i];
    text += StrCat("parameter ", i, "    ", parameter.bytes, " bytes at ",
                   Hexadecimal(function.parameter_base + parameter.offset), " of bank 0\n");
  }
  text += translated ? "can be run     yes\n"
                     : StrCat("can be run     no: ", translated.error().message, "\n");
  if (with_code) text += "\n" + Disassembly(code, program.dialect);
  return text;
}

void Search(std::span<const std::byte> cubin_bytes, const ExplainOptions& options, Found& found) {
  const auto code = cubin::ParseCubin(cubin_bytes);
  if (!code || !sass::DialectOf(code->target.architecture)) return;
  const auto program = cubin::ParseProgram(cubin_bytes);
  if (!program) return;
  for (const cubin::Function& function : code->functions) {
    if (function.name.find(options.pattern) == std::string_view::npos) continue;
    const auto text = program->FindSection(StrCat(".text.", function.name));
    if (!text) continue;
    if (found.report.empty()) {
      found.report = Report(function, program->sections[*text].content, code->target, options.code);
    } else {
      found.others.emplace_back(function.name);
    }
  }
}

// Fat binaries lie one behind another in a library, each aligned to 8 bytes.
void SearchContainers(std::span<const std::byte> file, const ExplainOptions& options,
                      Found& found) {
  const std::uint32_t magic = cubin::kFatBinaryMagic;
  const std::byte* const end = file.data() + file.size();
  for (const std::byte* at = file.data(); at + 16 < end;) {
    at = static_cast<const std::byte*>(
        memmem(at, static_cast<std::size_t>(end - at), &magic, sizeof(magic)));
    if (at == nullptr || at + 16 >= end) return;
    const auto bytes = cubin::FatBinaryBytes(at);
    const bool fits = bytes && *bytes <= static_cast<std::size_t>(end - at);
    const auto binary = fits
                            ? cubin::FatBinary::Parse({at, *bytes})
                            : base::Result<cubin::FatBinary>(Fail(ErrorCode::kInvalidArgument, ""));
    if (!binary) {
      at += sizeof(magic);
      continue;
    }
    const cubin::FatEntry* entry = binary->Choose(options.device);
    if (entry != nullptr && !entry->is_ptx) {
      if (const auto unpacked = cubin::Unpack(*entry)) Search(*unpacked, options, found);
    }
    at += *bytes;
  }
}

}  // namespace

base::Result<std::string> Explain(const ExplainOptions& options) {
  const auto content = base::ReadRegularFile(options.file);
  if (!content) return std::unexpected(content.error());
  const auto bytes = std::as_bytes(std::span(*content));
  Found found;
  Search(bytes, options, found);
  SearchContainers(bytes, options, found);
  if (found.report.empty()) {
    return Fail(ErrorCode::kNotFound,
                StrCat("no kernel for ", options.device.major, ".", options.device.minor, " with '",
                       options.pattern, "' in its name in '", options.file, "'"));
  }
  if (!found.others.empty()) {
    found.report += StrCat("\n", found.others.size(), " more kernels have '", options.pattern,
                           "' in their names:\n");
    for (std::size_t i = 0; i < std::min(found.others.size(), kMostNames); ++i) {
      found.report += StrCat("  ", found.others[i], "\n");
    }
  }
  return std::move(found.report);
}

}  // namespace eidolon::cli::values
