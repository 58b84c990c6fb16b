#include "services/controller/kube_host/kube_authorizer.h"

#include "services/base/text.h"

namespace eidolon::controller::kube_host {

using base::StrCat;

std::optional<rest::Denial> KubeAuthorizer::Check(const std::string& token,
                                                  const rest::AccessRequest& request) {
  if (token.empty()) {
    return rest::Denial{401, StrCat("send 'Authorization: Bearer' with a token for audience '",
                                    kRestAudience, "'")};
  }
  const auto identity = reviews_.Authenticate(token, kRestAudience);
  if (!identity) {
    const bool unknown = identity.error().code == base::ErrorCode::kInvalidArgument;
    return rest::Denial{unknown ? 401 : 503, identity.error().message};
  }
  const auto allowed = reviews_.IsAllowed(*identity, {.verb = request.verb,
                                                      .resource = request.resource,
                                                      .name_space = request.name_space,
                                                      .name = request.name,
                                                      .subresource = request.subresource});
  if (!allowed) return rest::Denial{503, allowed.error().message};
  if (*allowed) return std::nullopt;
  // The same words whether the object exists or not.
  const std::string what = request.subresource.empty()
                               ? request.resource
                               : StrCat(request.resource, "/", request.subresource);
  const std::string where = request.name_space.empty()
                                ? "all namespaces"
                                : StrCat("namespace '", request.name_space, "'");
  return rest::Denial{
      403, StrCat("'", identity->user, "' may not ", request.verb, " ", what, " in ", where)};
}

}  // namespace eidolon::controller::kube_host
