// Reads documents from requests and writes them into answers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/rest/api.h"
#include "services/controller/rest/routes.h"

namespace eidolon::controller::rest {

inline constexpr char kJson[] = "application/json";

// Writes a problem document. Without a status: the one that fits the error.
void Answer(const ApiError& error, int status, const httplib::Request& request,
            httplib::Response* response);
void Answer(const ApiError& error, const httplib::Request& request, httplib::Response* response);

void AnswerJson(const nlohmann::json& object, int status, httplib::Response* response);
void AnswerText(const std::string& text, int status, httplib::Response* response);
// Answers the object, or 304 when the client knows this version.
void AnswerObject(const ApiResult<nlohmann::json>& result, const httplib::Request& request,
                  httplib::Response* response);
// Answers what was created, with its address.
void AnswerCreated(const nlohmann::json& object, const httplib::Request& request,
                   httplib::Response* response);
// Answers what is gone, or will be when its metadata have a deletionTimestamp.
void AnswerDeleted(const ApiResult<nlohmann::json>& result, const httplib::Request& request,
                   httplib::Response* response);
// A page of a list. The token is the position after the last item of the page before.
void AnswerList(ApiResult<std::vector<nlohmann::json>> result, const std::string& kind,
                const httplib::Request& request, httplib::Response* response);

// The media type without parameters, in lower case: it has none of its own.
std::string MediaType(const httplib::Request& request);
// The document of a request; answers by itself when there is none.
std::optional<nlohmann::json> ReadDocument(const httplib::Request& request,
                                           httplib::Response* response);
// The same of the patch of a request.
std::optional<nlohmann::json> ReadMergePatch(const httplib::Request& request,
                                             httplib::Response* response);
// The token of the request's Authorization header; empty: none.
std::string BearerToken(const httplib::Request& request);
// Whether the request comes over the Unix socket from this process's own user or from root: the
// kernel says so.
bool IsOwner(const httplib::Request& request);
inline Writer WriterOf(const httplib::Request& request) { return {BearerToken(request)}; }
bool IsSet(const httplib::Request& request, const char* name);

inline ObjectName NameOf(const PathParts& parts) { return {parts[0], parts[1]}; }

}  // namespace eidolon::controller::rest
