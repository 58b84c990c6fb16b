// Any text as a file of declared values: what is read is within its limits and prints as itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/base/check.h"
#include "services/contract/ring/declaration.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::ring;
  const auto declarations = ParseDeclarations({reinterpret_cast<const char*>(data), size});
  for (const Declaration& one : declarations) {
    CHECK(one.pointer >= -1 && one.pointer <= 15);
    if (one.kind == DeclarationKind::kValue) continue;
    CHECK(one.experts > 0 && one.top_k <= one.experts && one.tokens > 0);
    CHECK(one.tokens * one.top_k <= kRoutedElementsMax);
    for (const auto& row : one.shares) CHECK(row.size() == one.experts);
  }
  CHECK(ParseDeclarations(PrintDeclarations(declarations)).size() == declarations.size());
  return 0;
}
