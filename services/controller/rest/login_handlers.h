// The routes by which the page gets in: a code for the server's user, and a session for whoever has
// the code or the server's token.
#pragma once

#include <vector>

#include "services/controller/rest/authorizer.h"
#include "services/controller/rest/routes.h"

namespace eidolon::controller::rest {

// Thread safe.
class LoginHandlers {
 public:
  // `authorizer`: null, or outlives it. Without sessions of its own the routes answer 404.
  explicit LoginHandlers(Authorizer* authorizer) : authorizer_(authorizer) {}

  // The routes refer to this object.
  void AddTo(std::vector<Route>* routes);

 private:
  // Over the Unix socket it need not be shown.
  bool ShowsServerToken(const httplib::Request& request) const;
  void CreateLogin(const httplib::Request& request, Logins* logins, httplib::Response* response);
  void CreateSession(const httplib::Request& request, Logins* logins, httplib::Response* response);

  Authorizer* const authorizer_;
};

}  // namespace eidolon::controller::rest
