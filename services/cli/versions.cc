#include "services/cli/versions.h"

#include <absl/base/config.h>
#include <ares.h>
#include <brotli/decode.h>
#include <fmt/core.h>
#include <google/protobuf/stubs/common.h>
#include <grpcpp/grpcpp.h>
#include <httplib.h>
#include <lz4.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <CLI/Version.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::cli {

using base::StrCat;

namespace {

// Three numbers below `base` each, in one number.
std::string Parts(std::uint32_t number, std::uint32_t base) {
  return StrCat(number / (base * base), ".", number / base % base, ".", number % base);
}

// (major << 24) | (minor << 12) | patch.
std::string Brotli(std::uint32_t number) {
  constexpr std::uint32_t kPart = 0xfff;
  return StrCat(number >> 24, ".", number >> 12 & kPart, ".", number & kPart);
}

}  // namespace

std::vector<LinkedLibrary> LinkedLibraries() {
  return {
#define LIBRARY(name, archives, version) {name, version},
#include "services/cli/linked_libraries.inc"
#undef LIBRARY
  };
}

std::string DescribeVersions(const std::string& own) {
  std::string text = own;
  for (const LinkedLibrary& library : LinkedLibraries()) {
    text += StrCat("\n", library.name, " ",
                   library.version.empty() ? "(has no version number)" : library.version);
  }
  return text;
}

}  // namespace eidolon::cli
