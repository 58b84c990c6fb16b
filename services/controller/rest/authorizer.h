// Who may do what. In embedded mode whoever has the server's token may do everything; on
// Kubernetes the cluster's own permissions decide.
#pragma once

#include <optional>
#include <string>

namespace eidolon::controller::rest {

// What a request wants, in Kubernetes' words: verb "get", "list", "watch", "create", "patch" or
// "delete" of a resource, in all namespaces when `name_space` is empty.
struct AccessRequest {
  std::string verb;
  std::string resource;     // "simulationjobs"
  std::string subresource;  // "log", or empty.
  std::string name_space;
  std::string name;  // Empty: of no single object.
};

class Logins;

struct Denial {
  int status = 403;  // 401: the token is unknown; 503: it cannot be checked now.
  std::string message;
};

// Thread safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // `token`: of the Authorization header, without "Bearer"; empty when there is none.
  virtual std::optional<Denial> Check(const std::string& token, const AccessRequest& request) = 0;
  // Sessions of the page; null: there are none.
  virtual Logins* logins() { return nullptr; }
  // Returns whether this is the server's own token, and not one of a session.
  virtual bool IsServerToken(const std::string& /*token*/) const { return false; }
};

// Returns what a request of this method to a route's path template means; nothing for what anybody
// may see: health, the API's description, the status page.
std::optional<AccessRequest> AccessRequestOf(const std::string& method, const std::string& path,
                                             const std::string& name_space,
                                             const std::string& name);

}  // namespace eidolon::controller::rest
