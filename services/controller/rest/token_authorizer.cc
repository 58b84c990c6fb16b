#include "services/controller/rest/token_authorizer.h"

namespace eidolon::controller::rest {

bool TokenAuthorizer::IsServerToken(const std::string& token) const {
  return EqualSecrets(token, token_);
}

std::optional<Denial> TokenAuthorizer::Check(const std::string& token, const AccessRequest&) {
  if (IsServerToken(token) || logins_.Accepts(token)) return std::nullopt;
  const std::string way_out = "send 'Authorization: Bearer' with the token in " + token_path_ +
                              ", or open the link that 'eidolon link' prints";
  return Denial{401, token.empty() ? "this server asks for its token: " + way_out
                                   : "this is not the token of this server, or its session has "
                                     "expired: " +
                                         way_out};
}

}  // namespace eidolon::controller::rest
