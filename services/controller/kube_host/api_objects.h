// Operations of the REST API on Kubernetes with objects of any kind, and their errors.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/controller/job/metadata.h"
#include "services/controller/kube/client.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

std::unexpected<rest::ApiError> Refuse(base::ErrorCode code, std::string message,
                                       job::Problems problems = {});
std::unexpected<rest::ApiError> Refuse(const kube::Refusal& refusal);
// Refuses a document with each problem.
std::unexpected<rest::ApiError> RefuseDocument(std::string_view kind, job::Problems problems);

// The namespace of the path is the one that counts; a document must not contradict it.
void CheckNamespace(const std::string& name_space, const job::Metadata& metadata,
                    job::Problems* problems);

// An object as users see it.
nlohmann::json Shown(nlohmann::json object);
kube::ObjectKey KeyOf(const rest::ObjectName& name);
// A document as it is sent to the API server: with the request's namespace, without what only the
// API server and the controller write.
nlohmann::json Prepared(nlohmann::json document, const std::string& name_space,
                        std::string_view kind);

// Lists objects in order of creation. Empty namespace: all.
rest::ApiResult<std::vector<nlohmann::json>> ListObjects(kube::Client* client,
                                                         const kube::Resource& resource,
                                                         const std::string& name_space);
rest::ApiResult<nlohmann::json> GetObject(kube::Client* client, const kube::Resource& resource,
                                          const rest::ObjectName& name);

// Who created an object by REST; the server alone writes it.
inline constexpr char kCreatedByAnnotation[] = "eidolon.dev/created-by";

// Writes are requests of the user, whom the API server authorizes, admits and logs.
kube::Answer<nlohmann::json> CreateObject(kube::Client* client, const kube::Impersonation& user,
                                          const kube::Resource& resource, nlohmann::json object);
rest::ApiResult<nlohmann::json> PatchObject(kube::Client* client, const kube::Impersonation& user,
                                            const kube::Resource& resource,
                                            const rest::ObjectName& name,
                                            const nlohmann::json& patch);
// Deletes an object with what belongs to it. Answers the object as it was.
rest::ApiResult<nlohmann::json> DeleteObject(kube::Client* client, const kube::Impersonation& user,
                                             const kube::Resource& resource,
                                             const rest::ObjectName& name);

}  // namespace eidolon::controller::kube_host
