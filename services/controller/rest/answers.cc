// Answers may contain text of programs that is not UTF-8. JSON cannot carry it, so it is replaced:
// an answer must not fail because of a byte. The ETag is the resourceVersion, which changes with
// every change of the object. The token of a page is a position in the list, so no state is kept
// between pages; a deletion between two pages can shift one object past the client. Every error is
// a problem document (RFC 9457).
#include "services/controller/rest/answers.h"

#include <httplib.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/http/peer.h"
#include "services/controller/job/document.h"
#include "services/controller/job/label_selector.h"
#include "services/controller/job/metadata.h"
#include "services/controller/rest/problem_response.h"

namespace eidolon::controller::rest {

using base::ErrorCode;
using base::StrCat;
using httplib::Request;
using httplib::Response;
using nlohmann::json;

namespace {

constexpr std::size_t kListMax = 500;

// Objects may hold what a request said; an answer never fails over a byte that is not text.
std::string Dump(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void Answer(const ApiError& error, int status, const Request& request, Response* response) {
  response->status = status;
  if (status == 429 || status == 503) response->set_header("Retry-After", "1");
  response->set_content(Dump(ToProblem(error, status, request.path)), kProblemType);
}

void Answer(const ApiError& error, const Request& request, Response* response) {
  Answer(error, StatusOf(error), request, response);
}

void AnswerJson(const json& object, int status, Response* response) {
  response->status = status;
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->contains("resourceVersion")) {
    response->set_header("ETag", "\"" + (*metadata)["resourceVersion"].get<std::string>() + "\"");
  }
  response->set_content(Dump(object), kJson);
}

void AnswerText(const std::string& text, int status, Response* response) {
  response->status = status;
  response->set_content(text, "text/plain; charset=utf-8");
}

std::string MediaType(const Request& request) {
  std::string type = request.get_header_value("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return type;
}

std::optional<json> ReadDocument(const Request& request, Response* response) {
  const std::string type = MediaType(request);
  const bool yaml = type == "application/yaml" || type == "application/x-yaml" ||
                    type == "text/yaml" || type == "text/x-yaml";
  if (!yaml && type != kJson) {
    Answer({ErrorCode::kInvalidArgument,
            "Content-Type must be application/json or application/yaml, not '" + type + "'",
            {}},
           415, request, response);
    return std::nullopt;
  }
  if (!yaml) {
    auto document = job::ParseJson(request.body);
    if (document) return std::move(*document);
    Answer({document.error().code, document.error().message, {}}, request, response);
    return std::nullopt;
  }
  auto documents = job::ParseYaml(request.body);
  if (!documents) {
    Answer({documents.error().code, documents.error().message, {}}, request, response);
    return std::nullopt;
  }
  if (documents->size() == 1) return std::move(documents->front());
  Answer({ErrorCode::kInvalidArgument,
          StrCat("one request takes one document; the body holds ", documents->size()),
          {}},
         request, response);
  return std::nullopt;
}

void AnswerObject(const ApiResult<json>& result, const Request& request, Response* response) {
  if (!result) return Answer(result.error(), request, response);
  AnswerJson(*result, 200, response);
  const std::string known = request.get_header_value("If-None-Match");
  if (known.empty() || known != response->get_header_value("ETag")) return;
  response->status = 304;
  response->body.clear();
}

std::optional<json> ReadMergePatch(const Request& request, Response* response) {
  const std::string type = MediaType(request);
  if (type != "application/merge-patch+json" && type != kJson) {
    Answer({ErrorCode::kInvalidArgument,
            "Content-Type must be application/merge-patch+json, not '" + type + "'",
            {}},
           415, request, response);
    return std::nullopt;
  }
  const auto patch = job::ParseJson(request.body);
  if (patch) return *patch;
  Answer({patch.error().code, patch.error().message, {}}, request, response);
  return std::nullopt;
}

std::string BearerToken(const httplib::Request& request) {
  const std::string value = request.get_header_value("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  // The scheme has no case (RFC 9110, 11.1).
  const bool bearer = strncasecmp(value.c_str(), kScheme.data(), kScheme.size()) == 0;
  return bearer ? value.substr(kScheme.size()) : "";
}

bool IsOwner(const httplib::Request& request) {
  const auto user = http::UserOf(request.remote_addr);
  return user && (*user == geteuid() || *user == 0);
}

bool IsSet(const Request& request, const char* name) {
  if (!request.has_param(name)) return false;
  const std::string value = request.get_param_value(name);
  return value.empty() || value == "1" || value == "true";
}

void AnswerList(ApiResult<std::vector<json>> result, const std::string& kind,
                const Request& request, Response* response) {
  if (!result) return Answer(result.error(), request, response);
  std::vector<json>& objects = *result;
  if (request.has_param("labelSelector")) {
    const auto selector = job::LabelSelector::Parse(request.get_param_value("labelSelector"));
    if (!selector)
      return Answer({selector.error().code, selector.error().message, {}}, request, response);
    std::erase_if(objects, [&](const json& object) { return !selector->Matches(object); });
  }
  const auto limit = base::ParseInteger(
      request.has_param("limit") ? request.get_param_value("limit") : StrCat(kListMax));
  const auto begin =
      base::ParseInteger(request.has_param("continue") ? request.get_param_value("continue") : "0");
  if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kListMax) || !begin ||
      *begin < 0) {
    return Answer({ErrorCode::kInvalidArgument,
                   StrCat("limit must be a number from 1 to ", kListMax,
                          ", continue the token of the page before"),
                   {}},
                  request, response);
  }
  json list = {{"apiVersion", job::kApiVersion},
               {"kind", kind + "List"},
               {"metadata", json::object()},
               {"items", json::array()}};
  auto at = static_cast<std::size_t>(*begin);
  const std::size_t end = std::min(objects.size(), at + static_cast<std::size_t>(*limit));
  for (; at < end; ++at) list["items"].push_back(std::move(objects[at]));
  if (end < objects.size()) list["metadata"]["continue"] = std::to_string(end);
  AnswerJson(list, 200, response);
}

void AnswerCreated(const json& object, const Request& request, Response* response) {
  response->set_header("Location",
                       request.path + "/" + object["metadata"]["name"].get<std::string>());
  AnswerJson(object, 201, response);
}

void AnswerDeleted(const ApiResult<json>& result, const Request& request, Response* response) {
  if (!result) return Answer(result.error(), request, response);
  const bool later = (*result)["metadata"].contains("deletionTimestamp");
  AnswerJson(*result, later ? 202 : 200, response);
}

}  // namespace eidolon::controller::rest
