// Admits the page without the server's token. A link holds a code that works once and for a short
// time; the page exchanges it for a session, which expires. A link that stays in a browser's
// history is then worth nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"

namespace eidolon::controller::rest {

inline constexpr std::int64_t kCodeSeconds = 600;
inline constexpr std::int64_t kSessionSeconds = 12 * 3600;

// Compares in a time that depends on the lengths alone.
bool EqualSecrets(std::string_view one, std::string_view other);

// Codes and sessions live in memory: another start of the server ends them. Of either the oldest
// goes when there are too many. Thread safe. The clock must outlive it.
class Logins {
 public:
  static constexpr std::size_t kCodesMax = 16;
  static constexpr std::size_t kSessionsMax = 64;

  explicit Logins(const base::RealClock& clock) : clock_(clock) {}

  // Makes a code for the link. Works for kCodeSeconds.
  std::string MakeCode();
  // The token of a new session; nothing when the code is unknown, used or too old.
  std::optional<std::string> Redeem(std::string_view code);
  // The token of a new session, for a caller who has shown the server's own.
  std::string OpenSession();
  // Returns whether the token is of a session that has not expired.
  bool Accepts(std::string_view token);

 private:
  struct Secret {
    std::string text;
    std::int64_t expires_ns;
  };
  using Secrets = std::vector<Secret>;  // The oldest first.

  // Require: the lock is held.
  void RemoveExpired(Secrets* secrets) const;
  std::string Add(Secrets* secrets, std::int64_t seconds, std::size_t most) const;

  const base::RealClock& clock_;
  std::mutex mutex_;  // Guards what follows.
  Secrets codes_, sessions_;
};

}  // namespace eidolon::controller::rest
