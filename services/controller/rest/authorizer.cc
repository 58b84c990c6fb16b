#include "services/controller/rest/authorizer.h"

#include <string_view>

namespace eidolon::controller::rest {

std::optional<AccessRequest> AccessRequestOf(const std::string& method, const std::string& path,
                                             const std::string& name_space,
                                             const std::string& name) {
  // The metrics page names jobs of all namespaces.
  if (path == "/metrics") return AccessRequest{"list", "simulationjobs", "", "", ""};
  // Their handlers look for tokens and codes themselves.
  if (path == "/api/v1/logins" || path == "/api/v1/sessions") return std::nullopt;
  if (!path.starts_with("/api/")) return std::nullopt;
  const char* resource = "simulationjobs";
  for (const char* other : {"simulatedclusters", "simulationsweeps"}) {
    if (path.find(std::string("/") + other) != std::string::npos) resource = other;
  }
  AccessRequest request{"", resource, "", name_space, name};
  if (path.ends_with("/logs")) {
    request.verb = "get";
    request.subresource = "log";
  } else if (path.ends_with("/events") || path.starts_with("/api/v1/watch/")) {
    request.verb = "watch";
  } else if (method == "POST") {
    request.verb = "create";
  } else if (method == "PATCH") {
    request.verb = "patch";
  } else if (method == "DELETE") {
    request.verb = "delete";
  } else {
    request.verb = name.empty() ? "list" : "get";
  }
  return request;
}

}  // namespace eidolon::controller::rest
