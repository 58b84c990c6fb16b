// Tokens: who may call timing and network service. The controller signs them (Ed25519) and agents
// send them with each call; a service needs only the public key to check them, which is not secret
// and may lie in any user's namespace.
//
//   token = hex(payload) "." hex(signature of payload)
//   payload = "eidolon-pass-1" LF "agent" or "controller" LF expiry in seconds since 1970 LF job
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/error.h"

namespace grpc {
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace eidolon::runtime {

// Identity that a token names.
struct Caller {
  bool is_controller = false;
  std::string job;  // Of an agent: its job, as the network service calls it.

  bool MaySpeakFor(std::string_view name) const { return is_controller || job == name; }
};

// Signs. Immutable.
class TokenIssuer {
 public:
  // Makes an issuer with a new key.
  static TokenIssuer Generate();
  // Fails when `private_key` is not one of private_key().
  static base::Result<TokenIssuer> FromPrivateKey(std::string_view private_key);

  // Returns the key as hexadecimal digits.
  const std::string& private_key() const { return private_key_; }
  const std::string& public_key() const { return public_key_; }
  std::string Issue(const Caller& caller, std::int64_t expires_unix_s) const;

 private:
  TokenIssuer(std::string private_key, std::string public_key)
      : private_key_(std::move(private_key)), public_key_(std::move(public_key)) {}

  std::string private_key_, public_key_;
};

// Returns the identity that the token names, when `public_key` (hexadecimal) belongs to the key
// that signed it and it has not expired.
std::optional<Caller> CheckToken(std::string_view token, std::string_view public_key,
                                 std::int64_t now_unix_s);

// Authenticates a service's callers by token. Thread safe; the clock outlives it.
class TokenGate {
 public:
  // Open: every caller counts as the controller. For a service whose address only its own user
  // reaches.
  TokenGate() = default;
  // Fails when the key is not a public_key().
  static base::Result<TokenGate> Make(std::string_view public_key, const base::RealClock& clock);

  // UNAUTHENTICATED without a valid token.
  grpc::Status Admit(const grpc::ServerContextBase* context, Caller* caller) const;

 private:
  std::string public_key_;  // Empty: open.
  const base::RealClock* clock_ = nullptr;
};

// Adds the token to a call; an empty one is not added.
void AttachToken(const std::string& token, grpc::ClientContext* context);

}  // namespace eidolon::runtime
