// Any text as a token: nobody gets in by it, and one that is damaged names nobody.
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/runtime/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using eidolon::runtime::CheckToken;
  static const auto issuer = eidolon::runtime::TokenIssuer::Generate();
  static const std::string good = issuer.Issue({.is_controller = false, .job = "team/a/1"}, 100);
  const std::string text(reinterpret_cast<const char*>(data), size);
  CHECK(!CheckToken(text, issuer.public_key(), 1));
  CHECK(!CheckToken(good, text, 1));
  std::string damaged = good;
  for (std::size_t at = 0; at < size; ++at) {
    damaged[at * 7 % damaged.size()] = static_cast<char>(data[at]);
  }
  if (const auto caller = CheckToken(damaged, issuer.public_key(), 1)) {
    CHECK(!caller->is_controller && caller->job == "team/a/1");
  }
  return 0;
}
