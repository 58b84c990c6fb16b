#include "services/controller/place/token.h"

#include <sys/random.h>

#include <string_view>

#include "services/base/check.h"
#include "services/base/hex.h"

namespace eidolon::controller::place {

std::string MakeToken(std::size_t bytes) {
  std::string secret(bytes, '\0');
  CHECK(getrandom(secret.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  return base::Hex(secret);
}

}  // namespace eidolon::controller::place
