// Authorization of REST on Kubernetes: TokenReview says who asks, SubjectAccessReview what they
// may.
#pragma once

#include <optional>
#include <string>

#include "services/controller/kube/reviews.h"
#include "services/controller/rest/authorizer.h"

namespace eidolon::controller::kube_host {

// Tokens must be made for us: one that we are sent is of no use at the API server.
inline constexpr char kRestAudience[] = "rest.eidolon.dev";

// Thread safe. The reviews must outlive it.
class KubeAuthorizer final : public rest::Authorizer {
 public:
  explicit KubeAuthorizer(kube::Reviews* reviews) : reviews_(*reviews) {}
  std::optional<rest::Denial> Check(const std::string& token,
                                    const rest::AccessRequest& request) override;

 private:
  kube::Reviews& reviews_;
};

}  // namespace eidolon::controller::kube_host
