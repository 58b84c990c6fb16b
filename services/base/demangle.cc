#include "services/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace eidolon::base {

std::optional<std::string> Demangle(std::string_view symbol) {
  if (symbol.size() > kMangledMax || !symbol.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || name == nullptr) return std::nullopt;
  return name.get();
}

}  // namespace eidolon::base
