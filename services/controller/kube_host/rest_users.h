// Users of REST: who sends a request, and whether they may ask for what only pods can reach.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/controller/kube/reviews.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

// Thread safe. The reviews must outlive it.
class RestUsers {
 public:
  explicit RestUsers(kube::Reviews* reviews) : reviews_(*reviews) {}

  // Returns the sender of the token of a request that KubeAuthorizer let pass.
  rest::ApiResult<kube::Identity> Find(const rest::Writer& writer) const;

  // Whether the user may have objects with these fields (JSON pointers, as FindPodFields gives
  // them) in the namespace: whoever may create pods there can reach as much by a pod of their own.
  rest::ApiResult<void> CheckPodFields(const kube::Identity& user, const std::string& name_space,
                                       const std::vector<std::string>& fields) const;

 private:
  kube::Reviews& reviews_;
};

// The fields of a document that reach what its author may not be able to reach: the node, other
// Secrets and claims, tokens of ServiceAccounts. Of a SimulationJob, and of a SimulationSweep,
// whose matrix fills in fields of its jobs.
std::vector<std::string> FindPodFields(const nlohmann::json& job);
std::vector<std::string> FindPodFieldsOfSweep(const nlohmann::json& sweep);

}  // namespace eidolon::controller::kube_host
