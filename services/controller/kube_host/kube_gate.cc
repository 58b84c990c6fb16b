#include "services/controller/kube_host/kube_gate.h"

#include "services/base/text.h"

namespace eidolon::controller::kube_host {

using base::StrCat;

std::optional<rest::Denial> KubeGate::Check(const std::string& token, const rest::Wish& wish) {
  if (token.empty()) {
    return rest::Denial{401, StrCat("send 'Authorization: Bearer' with a token for audience '",
                                    kRestAudience, "'")};
  }
  const auto identity = reviews_.Authenticate(token, kRestAudience);
  if (!identity) {
    const bool unknown = identity.error().code == base::ErrorCode::kInvalidArgument;
    return rest::Denial{unknown ? 401 : 503, identity.error().message};
  }
  const auto allowed = reviews_.IsAllowed(*identity, {.verb = wish.verb,
                                                      .resource = wish.resource,
                                                      .name_space = wish.name_space,
                                                      .name = wish.name,
                                                      .subresource = wish.subresource});
  if (!allowed) return rest::Denial{503, allowed.error().message};
  if (*allowed) return std::nullopt;
  // The same words whether the object exists or not.
  const std::string what =
      wish.subresource.empty() ? wish.resource : StrCat(wish.resource, "/", wish.subresource);
  const std::string where =
      wish.name_space.empty() ? "all namespaces" : StrCat("namespace '", wish.name_space, "'");
  return rest::Denial{
      403, StrCat("'", identity->user, "' may not ", wish.verb, " ", what, " in ", where)};
}

}  // namespace eidolon::controller::kube_host
