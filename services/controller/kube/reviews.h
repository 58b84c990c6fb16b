// Who sends a token, and what they may do: asked of the API server, remembered for a short time.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/kube/client.h"

namespace eidolon::controller::kube {

struct Identity {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  nlohmann::json extra;
  // Pod of a token that is bound to one; empty otherwise.
  std::string pod_name, pod_uid, name_space;
};

struct Access {
  std::string verb;  // "create"
  std::string group = "eidolon.dev";
  std::string resource;  // "simulationjobs"
  std::string name_space;
  std::string name;
  std::string subresource;
};

// Returns the impersonation for requests in the name of the identity.
Impersonation ToImpersonation(const Identity& identity);

// Thread safe. The client must outlive it.
class Reviews {
 public:
  Reviews(Client* client, const base::RealClock& clock) : client_(*client), clock_(clock) {}

  // kInvalidArgument: the token does not hold for this audience. kUnavailable: that cannot be
  // decided now.
  base::Result<Identity> Authenticate(const std::string& token, const std::string& audience);
  // Whether the identity may do this.
  base::Result<bool> IsAllowed(const Identity& identity, const Access& access);

 private:
  template <typename T>
  struct Remembered {
    T value;
    std::int64_t until_ns = 0;
  };

  Client& client_;
  const base::RealClock& clock_;
  std::mutex mutex_;                                        // Guards what follows.
  std::map<std::string, Remembered<Identity>> identities_;  // By a digest of the token.
  std::map<std::string, Remembered<bool>> accesses_;
};

}  // namespace eidolon::controller::kube
