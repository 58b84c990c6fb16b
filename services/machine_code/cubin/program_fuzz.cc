#include "services/machine_code/cubin/program.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::cubin;
  const auto program = ParseProgram(std::as_bytes(std::span(data, size)));
  if (!program) return 0;
  for (const Relocation& relocation : program->relocations) {
    if (relocation.section >= program->sections.size()) __builtin_trap();
    if (relocation.symbol >= program->symbols.size()) __builtin_trap();
    if (program->symbols[relocation.symbol].section >= program->sections.size()) __builtin_trap();
  }
  return 0;
}
