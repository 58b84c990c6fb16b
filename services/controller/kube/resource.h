// The kinds of Kubernetes objects that the controller touches, and where the API server has them.
#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace eidolon::controller::kube {

struct Resource {
  std::string_view api_version;  // "batch/v1"; "v1" is the core group.
  std::string_view plural;       // "jobs"
  std::string_view kind;         // "Job"
  bool namespaced = true;
};

inline constexpr Resource kSimulationJobs{"eidolon.dev/v1alpha1", "simulationjobs",
                                          "SimulationJob"};
inline constexpr Resource kSimulatedClusters{"eidolon.dev/v1alpha1", "simulatedclusters",
                                             "SimulatedCluster"};
inline constexpr Resource kSimulationSweeps{"eidolon.dev/v1alpha1", "simulationsweeps",
                                            "SimulationSweep"};
inline constexpr Resource kJobs{"batch/v1", "jobs", "Job"};
inline constexpr Resource kPods{"v1", "pods", "Pod"};
inline constexpr Resource kServices{"v1", "services", "Service"};
inline constexpr Resource kDeployments{"apps/v1", "deployments", "Deployment"};
inline constexpr Resource kEvents{"events.k8s.io/v1", "events", "Event"};
// The same by their older name: what other controllers tell is found by its object.
inline constexpr Resource kCoreEvents{"v1", "events", "Event"};
inline constexpr Resource kLeases{"coordination.k8s.io/v1", "leases", "Lease"};
inline constexpr Resource kSecrets{"v1", "secrets", "Secret"};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io/v1", "networkpolicies",
                                           "NetworkPolicy"};
inline constexpr Resource kEndpointSlices{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice"};
inline constexpr Resource kTokenReviews{"authentication.k8s.io/v1", "tokenreviews", "TokenReview",
                                        false};
inline constexpr Resource kAccessReviews{"authorization.k8s.io/v1", "subjectaccessreviews",
                                         "SubjectAccessReview", false};

// The resource of an object's apiVersion and kind. Requires: one of the above.
const Resource& ResourceOf(const nlohmann::json& object);

// An object by namespace and name.
struct ObjectKey {
  std::string name_space;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};
ObjectKey KeyOf(const nlohmann::json& object);

// "/apis/batch/v1/namespaces/ns/jobs[/name]"; an empty namespace leaves it out (all namespaces).
std::string PathOf(const Resource& resource, const ObjectKey& key);

}  // namespace eidolon::controller::kube
