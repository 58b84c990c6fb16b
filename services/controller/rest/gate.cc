#include "services/controller/rest/gate.h"

#include <string_view>

namespace eidolon::controller::rest {

std::optional<Wish> WishOf(const std::string& method, const std::string& path,
                           const std::string& name_space, const std::string& name) {
  // The metrics page names jobs of all namespaces.
  if (path == "/metrics") return Wish{"list", "simulationjobs", "", "", ""};
  if (!path.starts_with("/api/")) return std::nullopt;
  const bool cluster = path.find("/simulatedclusters") != std::string::npos;
  Wish wish{"", cluster ? "simulatedclusters" : "simulationjobs", "", name_space, name};
  if (path.ends_with("/logs")) {
    wish.verb = "get";
    wish.subresource = "log";
  } else if (path.ends_with("/events")) {
    wish.verb = "watch";
  } else if (method == "POST") {
    wish.verb = "create";
  } else if (method == "PATCH") {
    wish.verb = "patch";
  } else if (method == "DELETE") {
    wish.verb = "delete";
  } else {
    wish.verb = name.empty() ? "list" : "get";
  }
  return wish;
}

}  // namespace eidolon::controller::rest
