#include "services/controller/place/token.h"

#include <sys/random.h>

#include <string_view>

#include "services/base/check.h"

namespace eidolon::controller::place {

std::string MakeToken(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string secret(bytes, '\0');
  CHECK(getrandom(secret.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  std::string text;
  for (const char byte : secret) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace eidolon::controller::place
