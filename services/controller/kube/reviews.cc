// Each request carries a token, and asking the API server about every one would cost up to two
// calls. Answers are therefore kept for 30 s, which is also how long a revoked token or permission
// still works. A token that is refused is not remembered, so a corrected set-up works at once.
// Tokens themselves are not kept in memory: the key is a SHA-256 of audience and token. No lock is
// held during a request, so two threads may ask for the same, which is harmless. kRememberedMax
// bounds the memory against callers that send ever new tokens.
#include "services/controller/kube/reviews.h"

#include <openssl/sha.h>

#include "services/base/text.h"

namespace eidolon::controller::kube {
namespace {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;

constexpr std::int64_t kRememberedNs = 30'000'000'000;
constexpr std::size_t kRememberedMax = 4096;
constexpr char kPrefix[] = "system:serviceaccount:";

// Tokens are not kept: their digest, which must not be guessable.
std::string DigestOf(const std::string& text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return {reinterpret_cast<const char*>(digest), sizeof digest};
}

std::string FirstOf(const json& extra, const char* name) {
  const auto found = extra.find(name);
  if (found == extra.end() || !found->is_array() || found->empty()) return "";
  return found->front().get<std::string>();
}

template <typename Map>
void Forget(Map* map, std::int64_t now_ns) {
  if (map->size() < kRememberedMax) return;
  std::erase_if(*map, [&](const auto& entry) { return entry.second.until_ns <= now_ns; });
  if (map->size() >= kRememberedMax) map->clear();
}

Identity ToIdentity(const json& user) {
  Identity identity;
  identity.user = user.value("username", "");
  identity.uid = user.value("uid", "");
  identity.groups = user.value("groups", std::vector<std::string>{});
  identity.extra = user.value("extra", json::object());
  identity.pod_name = FirstOf(identity.extra, "authentication.kubernetes.io/pod-name");
  identity.pod_uid = FirstOf(identity.extra, "authentication.kubernetes.io/pod-uid");
  if (identity.user.starts_with(kPrefix)) {
    const std::string rest = identity.user.substr(sizeof kPrefix - 1);
    identity.name_space = rest.substr(0, rest.find(':'));
  }
  return identity;
}

}  // namespace

Impersonation ToImpersonation(const Identity& identity) {
  Impersonation user{.user = identity.user, .groups = {}};
  if (identity.user.starts_with(kPrefix)) return user;
  for (const std::string& group : identity.groups) {
    if (group != "system:authenticated") user.groups.push_back(group);
  }
  return user;
}

base::Result<Identity> Reviews::Authenticate(const std::string& token,
                                             const std::string& audience) {
  const std::string digest = DigestOf(audience + "\n" + token);
  const std::int64_t now_ns = clock_.MonotonicNs();
  {
    const std::lock_guard lock(mutex_);
    const auto found = identities_.find(digest);
    if (found != identities_.end() && found->second.until_ns > now_ns) return found->second.value;
  }
  const json review = {{"apiVersion", kTokenReviews.api_version},
                       {"kind", kTokenReviews.kind},
                       {"metadata", json::object()},
                       {"spec", {{"token", token}, {"audiences", {audience}}}}};
  const auto answer = client_.Create(kTokenReviews, review);
  if (!answer) {
    return base::Fail(ErrorCode::kUnavailable,
                      "the token cannot be checked: " + answer.error().message);
  }
  const json status = answer->value("status", json::object());
  const auto audiences = status.value("audiences", std::vector<std::string>{});
  const bool ours = std::find(audiences.begin(), audiences.end(), audience) != audiences.end();
  if (!status.value("authenticated", false) || !ours) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("the token is not valid for audience '", audience, "'"));
  }
  Identity identity = ToIdentity(status.value("user", json::object()));
  const std::lock_guard lock(mutex_);
  Forget(&identities_, now_ns);
  identities_[digest] = {identity, now_ns + kRememberedNs};
  return identity;
}

base::Result<bool> Reviews::IsAllowed(const Identity& identity, const Access& access) {
  const json spec = {{"user", identity.user},
                     {"uid", identity.uid},
                     {"groups", identity.groups},
                     {"extra", identity.extra},
                     {"resourceAttributes",
                      {{"group", access.group},
                       {"resource", access.resource},
                       {"subresource", access.subresource},
                       {"verb", access.verb},
                       {"namespace", access.name_space},
                       {"name", access.name}}}};
  const std::string key = DigestOf(spec.dump());
  const std::int64_t now_ns = clock_.MonotonicNs();
  {
    const std::lock_guard lock(mutex_);
    const auto found = accesses_.find(key);
    if (found != accesses_.end() && found->second.until_ns > now_ns) return found->second.value;
  }
  const json review = {{"apiVersion", kAccessReviews.api_version},
                       {"kind", kAccessReviews.kind},
                       {"metadata", json::object()},
                       {"spec", spec}};
  const auto answer = client_.Create(kAccessReviews, review);
  if (!answer) {
    return base::Fail(ErrorCode::kUnavailable,
                      "the permission cannot be checked: " + answer.error().message);
  }
  const bool allowed = answer->value("status", json::object()).value("allowed", false);
  const std::lock_guard lock(mutex_);
  Forget(&accesses_, now_ns);
  accesses_[key] = {allowed, now_ns + kRememberedNs};
  return allowed;
}

}  // namespace eidolon::controller::kube
