// Authorization in embedded mode: whoever shows the server's token or that of a session may do
// everything, since jobs run as the server's user anyway.
#pragma once

#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/controller/rest/authorizer.h"
#include "services/controller/rest/logins.h"

namespace eidolon::controller::rest {

// Thread safe.
class TokenAuthorizer final : public Authorizer {
 public:
  // `token_path`: where the token is kept, for messages. The clock must outlive it.
  TokenAuthorizer(std::string token, std::string token_path, const base::RealClock& clock)
      : token_(std::move(token)), token_path_(std::move(token_path)), logins_(clock) {}

  std::optional<Denial> Check(const std::string& token, const AccessRequest& request) override;
  Logins* logins() override { return &logins_; }
  bool IsServerToken(const std::string& token) const override;

 private:
  const std::string token_;
  const std::string token_path_;
  Logins logins_;
};

}  // namespace eidolon::controller::rest
