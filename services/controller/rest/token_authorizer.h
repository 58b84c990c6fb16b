// Authorization in embedded mode: whoever shows the server's token may do everything, since jobs
// run as the server's user anyway.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/controller/rest/authorizer.h"

namespace eidolon::controller::rest {

// Thread safe.
class TokenAuthorizer final : public Authorizer {
 public:
  // `token_path`: where the token is kept, for messages.
  TokenAuthorizer(std::string token, std::string token_path)
      : token_(std::move(token)), token_path_(std::move(token_path)) {}

  std::optional<Denial> Check(const std::string& token, const AccessRequest& request) override;

 private:
  const std::string token_;
  const std::string token_path_;
};

// Compares in a time that depends on the lengths alone.
bool EqualSecrets(std::string_view one, std::string_view other);

}  // namespace eidolon::controller::rest
