#include "services/controller/rest/logins.h"

#include <openssl/crypto.h>

#include "services/controller/store/access_token.h"

namespace eidolon::controller::rest {

bool EqualSecrets(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string Logins::MakeCode() {
  const std::lock_guard lock(mutex_);
  return Add(&codes_, kCodeSeconds, kCodesMax);
}

std::optional<std::string> Logins::Redeem(std::string_view code) {
  const std::lock_guard lock(mutex_);
  RemoveExpired(&codes_);
  const auto used =
      std::erase_if(codes_, [code](const Secret& known) { return EqualSecrets(code, known.text); });
  if (used == 0) return std::nullopt;
  return Add(&sessions_, kSessionSeconds, kSessionsMax);
}

std::string Logins::OpenSession() {
  const std::lock_guard lock(mutex_);
  return Add(&sessions_, kSessionSeconds, kSessionsMax);
}

bool Logins::Accepts(std::string_view token) {
  const std::lock_guard lock(mutex_);
  RemoveExpired(&sessions_);
  bool accepted = false;
  // All are compared, so that the time does not depend on which one matches.
  for (const Secret& session : sessions_) accepted |= EqualSecrets(token, session.text);
  return accepted;
}

void Logins::RemoveExpired(Secrets* secrets) const {
  std::erase_if(*secrets, [now = clock_.MonotonicNs()](const Secret& secret) {
    return now >= secret.expires_ns;
  });
}

std::string Logins::Add(Secrets* secrets, std::int64_t seconds, std::size_t most) const {
  RemoveExpired(secrets);
  if (secrets->size() >= most) secrets->erase(secrets->begin());
  const std::int64_t expires_ns = clock_.MonotonicNs() + seconds * 1'000'000'000;
  secrets->push_back({store::MakeSecret(), expires_ns});
  return secrets->back().text;
}

}  // namespace eidolon::controller::rest
