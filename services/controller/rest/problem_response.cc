#include "services/controller/rest/problem_response.h"

#include <map>

namespace eidolon::controller::rest {

using base::ErrorCode;

int StatusOf(const ApiError& error) {
  if (error.is_forbidden) return 403;
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return error.problems.empty() ? 400 : 422;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kAlreadyExists:
      return 409;
    case ErrorCode::kFailedPrecondition:
      return 409;
    case ErrorCode::kResourceExhausted:
      return error.disk_full || error.over_quota ? 507 : 429;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

std::string TitleOf(int status) {
  static const std::map<int, std::string> kTitles = {{400, "Bad Request"},
                                                     {401, "Unauthorized"},
                                                     {403, "Forbidden"},
                                                     {404, "Not Found"},
                                                     {405, "Method Not Allowed"},
                                                     {408, "Request Timeout"},
                                                     {409, "Conflict"},
                                                     {412, "Precondition Failed"},
                                                     {413, "Content Too Large"},
                                                     {414, "URI Too Long"},
                                                     {415, "Unsupported Media Type"},
                                                     {417, "Expectation Failed"},
                                                     {422, "Unprocessable Content"},
                                                     {429, "Too Many Requests"},
                                                     {431, "Request Header Fields Too Large"},
                                                     {500, "Internal Server Error"},
                                                     {501, "Not Implemented"},
                                                     {503, "Service Unavailable"},
                                                     {505, "HTTP Version Not Supported"},
                                                     {507, "Insufficient Storage"}};
  const auto found = kTitles.find(status);
  return found == kTitles.end() ? "Error" : found->second;
}

nlohmann::json ToProblem(const ApiError& error, int status, const std::string& instance) {
  nlohmann::json problem = {{"type", "about:blank"},
                            {"title", TitleOf(status)},
                            {"status", status},
                            {"detail", error.message},
                            {"instance", instance}};
  if (error.disk_full) problem["type"] = "https://eidolon.dev/problems/disk-full";
  if (error.over_quota) problem["type"] = "https://eidolon.dev/problems/data-quota";
  if (error.problems.empty()) return problem;
  problem["type"] = error.is_forbidden ? "https://eidolon.dev/problems/forbidden-fields"
                                       : "https://eidolon.dev/problems/invalid-document";
  problem["errors"] = nlohmann::json::array();
  for (const job::Problem& entry : error.problems) {
    problem["errors"].push_back({{"pointer", entry.pointer}, {"detail", entry.detail}});
  }
  return problem;
}

}  // namespace eidolon::controller::rest
