#include "services/base/demangle.h"

#include <csetjmp>
#include <utility>

// The header would declare basename() of its own.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

namespace eidolon::base {
namespace {

// Text that the demangler has printed of a symbol, and where to continue when that is too much.
struct Printed {
  std::string text;
  std::jmp_buf too_long;
};

void Take(const char* part, std::size_t size, void* opaque) {
  auto* printed = static_cast<Printed*>(opaque);
  // A jump, because the demangler's C code has no other end; it keeps nothing but its own frames.
  if (printed->text.size() + size > kDemangledMax) std::longjmp(printed->too_long, 1);
  printed->text.append(part, size);
}

}  // namespace

std::optional<std::string> Demangle(std::string_view symbol) {
  if (symbol.size() > kMangledMax || !symbol.starts_with("_Z")) return std::nullopt;
  const std::string mangled(symbol);
  Printed printed;
  printed.text.reserve(symbol.size() * 2);
  if (setjmp(printed.too_long) != 0) return std::nullopt;
  if (cplus_demangle_v3_callback(mangled.c_str(), DMGL_PARAMS | DMGL_TYPES, Take, &printed) == 0) {
    return std::nullopt;
  }
  return std::move(printed.text);
}

}  // namespace eidolon::base
