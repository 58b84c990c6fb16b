#include "services/base/hex.h"

#include <cstddef>
#include <cstdint>

namespace eidolon::base {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string Hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string Hex(const Digest& digest) {
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[static_cast<std::size_t>(15 - i)] = kDigits[(digest.high >> (4 * i)) & 15u];
    text[static_cast<std::size_t>(31 - i)] = kDigits[(digest.low >> (4 * i)) & 15u];
  }
  return text;
}

std::optional<Digest> ParseDigest(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  std::uint64_t words[2] = {0, 0};
  for (std::size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    words[i / 16] = words[i / 16] << 4 | digit;
  }
  return Digest{words[0], words[1]};
}

}  // namespace eidolon::base
