#include "services/controller/rest/token_authorizer.h"

#include <openssl/crypto.h>

namespace eidolon::controller::rest {

bool EqualSecrets(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::optional<Denial> TokenAuthorizer::Check(const std::string& token, const AccessRequest&) {
  if (EqualSecrets(token, token_)) return std::nullopt;
  const std::string way_out = "send 'Authorization: Bearer' with the token in " + token_path_ +
                              ", or open the link that 'eidolon up' printed";
  return Denial{401, token.empty() ? "this server asks for its token: " + way_out
                                   : "this is not the token of this server: " + way_out};
}

}  // namespace eidolon::controller::rest
