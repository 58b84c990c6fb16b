#include "services/controller/rest/login_handlers.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "services/controller/rest/answers.h"
#include "services/controller/rest/logins.h"

namespace eidolon::controller::rest {
namespace {

using base::ErrorCode;
using httplib::Request;
using httplib::Response;

// Answers that hold a secret.
void AnswerSecret(const nlohmann::json& object, Response* response) {
  response->set_header("Cache-Control", "no-store");
  AnswerJson(object, 201, response);
}

void AnswerLocked(const std::string& message, const Request& request, Response* response) {
  response->set_header("WWW-Authenticate", "Bearer");
  Answer({ErrorCode::kFailedPrecondition, message, {}}, 401, request, response);
}

}  // namespace

void LoginHandlers::AddTo(std::vector<Route>* routes) {
  const auto call = [this](auto method) {
    return [this, method](const Request& request, const PathParts&, Response* response) {
      Logins* const logins = authorizer_ == nullptr ? nullptr : authorizer_->logins();
      if (logins != nullptr) return (this->*method)(request, logins, response);
      Answer({ErrorCode::kNotFound,
              "this server opens no sessions: send the token itself, if it asks for one",
              {}},
             404, request, response);
    };
  };
  routes->push_back({"POST", "/api/v1/logins", call(&LoginHandlers::CreateLogin)});
  routes->push_back({"POST", "/api/v1/sessions", call(&LoginHandlers::CreateSession)});
}

// A session may not prolong itself, so its token makes no codes.
bool LoginHandlers::ShowsServerToken(const Request& request) const {
  return IsOwner(request) || authorizer_->IsServerToken(BearerToken(request));
}

void LoginHandlers::CreateLogin(const Request& request, Logins* logins, Response* response) {
  if (!ShowsServerToken(request)) {
    return AnswerLocked(
        "only the server's own token makes a code; 'eidolon link' of the server's user needs none",
        request, response);
  }
  AnswerSecret({{"code", logins->MakeCode()}, {"expiresInSeconds", kCodeSeconds}}, response);
}

void LoginHandlers::CreateSession(const Request& request, Logins* logins, Response* response) {
  std::optional<std::string> token;
  if (ShowsServerToken(request)) {
    token = logins->OpenSession();
  } else if (!BearerToken(request).empty()) {
    return AnswerLocked("this is not the token of this server", request, response);
  } else {
    const auto document = ReadDocument(request, response);
    if (!document) return;
    const bool has_code =
        document->is_object() && document->contains("code") && document->at("code").is_string();
    if (has_code) token = logins->Redeem(document->at("code").get<std::string>());
  }
  if (!token) {
    return AnswerLocked(
        "this link was used before, or is too old; 'eidolon link' prints another one", request,
        response);
  }
  AnswerSecret({{"token", *token}, {"expiresInSeconds", kSessionSeconds}}, response);
}

}  // namespace eidolon::controller::rest
