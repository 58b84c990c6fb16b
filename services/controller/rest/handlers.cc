// Handlers translate between HTTP and Api and decide nothing. Each route is a row of a table, from
// which the server, the authorization, and the check against the API description are made; a route
// that is not in the table does not exist. Files of the page have addresses that contain the
// version and may be cached for ever; others are asked for again each time. Long answers
// read a file block by block. One that is a copy is held by its answer and goes with it, also when
// the client goes away.
#include "services/controller/rest/handlers.h"

#include <httplib.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/controller/http/peer.h"
#include "services/controller/job/document.h"
#include "services/controller/job/metadata.h"
#include "services/controller/page/asset.h"
#include "services/controller/rest/answers.h"
#include "services/controller/rest/embedded.h"
#include "services/controller/rest/problem_response.h"
#include "services/controller/shown/comparison.h"

namespace eidolon::controller::rest {
namespace {

using base::ErrorCode;
using base::StrCat;
using httplib::Request;
using httplib::Response;
using nlohmann::json;

constexpr std::size_t kFileBlockBytes = 64 * 1024;
constexpr std::size_t kKeyBytesMax = 255;

// A file of the page. Browsers keep it for good when its address holds the version; else they ask
// whether it is the same.
void AnswerAsset(std::string_view name, std::string_view version, const Request& request,
                 Response* response) {
  const page::Asset* asset = page::FindAsset(name);
  if (asset == nullptr) {
    return Answer({ErrorCode::kNotFound, StrCat("the page has no file '", name, "'"), {}}, request,
                  response);
  }
  response->set_header("Content-Security-Policy", page::kPolicy);
  // A page of another version gets what there is now, and does not keep it.
  const bool lasts = version == page::Version();
  response->set_header("Cache-Control", lasts ? "public, max-age=31536000, immutable" : "no-cache");
  response->set_header("ETag", asset->tag);
  if (request.get_header_value("If-None-Match") == asset->tag) {
    response->status = 304;
    return;
  }
  response->set_content(asset->content.data(), asset->content.size(), std::string(asset->type));
}

}  // namespace

Handlers::Handlers(Api* api, Authorizer* authorizer, std::size_t streams_max)
    : api_(*api), logins_(authorizer), streams_(std::make_shared<StreamState>(streams_max)) {
  AddPages();
  logins_.AddTo(&routes_);
  AddJobs();
  AddClusters();
  AddSweeps();
}

void Handlers::AddPages() {
  const auto file = [](const char* type, std::string_view content) {
    return [type, content](const Request&, const PathParts&, Response* response) {
      response->set_content(content.data(), content.size(), type);
    };
  };
  routes_.push_back({"GET", "/", [](const Request& request, const PathParts&, Response* response) {
                       AnswerAsset("index.html", "", request, response);
                     }});
  routes_.push_back({"GET", "/page/{file}",
                     [](const Request& request, const PathParts& parts, Response* response) {
                       AnswerAsset(parts[0], "", request, response);
                     }});
  routes_.push_back({"GET", "/page/{version}/{file}",
                     [](const Request& request, const PathParts& parts, Response* response) {
                       AnswerAsset(parts[1], parts[0], request, response);
                     }});
  routes_.push_back({"GET", "/openapi.json", file(kJson, OpenApiDocument())});
  routes_.push_back({"GET", "/livez", [](const Request&, const PathParts&, Response* response) {
                       AnswerText("ok\n", 200, response);
                     }});
  routes_.push_back(
      {"GET", "/readyz", [this](const Request& request, const PathParts&, Response* response) {
         const auto ready = api_.CheckReady();
         if (ready) return AnswerText("ok\n", 200, response);
         Answer({ErrorCode::kUnavailable, ready.error().message, {}}, request, response);
       }});
  routes_.push_back({"GET", "/metrics", [this](const Request&, const PathParts&, Response* r) {
                       r->set_content(api_.MetricsText(), "text/plain; version=0.0.4");
                     }});
}

void Handlers::AddJobs() {
  const std::string all = "/api/v1/namespaces/{namespace}/simulationjobs";
  const std::string one = all + "/{name}";
  const auto call = [this](auto method) {
    return [this, method](const Request& request, const PathParts& parts, Response* response) {
      (this->*method)(request, parts, response);
    };
  };
  routes_.push_back({"GET", "/api/v1/simulationjobs",
                     [this](const Request& request, const PathParts&, Response* response) {
                       AnswerList(api_.ListJobs(""), "SimulationJob", request, response);
                     }});
  routes_.push_back(
      {"GET", all, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerList(api_.ListJobs(parts[0]), "SimulationJob", request, response);
       }});
  routes_.push_back({"POST", all, call(&Handlers::CreateJob)});
  routes_.push_back(
      {"GET", one, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerObject(api_.GetJob(NameOf(parts)), request, response);
       }});
  routes_.push_back({"PATCH", one, call(&Handlers::PatchJob)});
  routes_.push_back({"DELETE", one, call(&Handlers::DeleteJob)});
  routes_.push_back({"GET", one + "/logs", call(&Handlers::GetLog)});
  routes_.push_back({"GET", one + "/events", call(&Handlers::GetEvents)});
  routes_.push_back(
      {"GET", one + "/comparison/{otherNamespace}/{other}", call(&Handlers::GetComparison)});
  routes_.push_back({"GET", one + "/timeline", call(&Handlers::GetTimeline)});
  routes_.push_back({"GET", one + "/recording", call(&Handlers::GetRecording)});
  const auto watch = [this](const Request& request, const PathParts& parts, Response* response) {
    const auto stream = OpenStream(request, response);
    if (!stream) return;
    const auto await = [this, name_space = parts.empty() ? "" : parts[0]](
                           std::int64_t after, std::size_t known,
                           std::chrono::milliseconds timeout) {
      return api_.AwaitJobs(name_space, after, known, timeout);
    };
    StreamList(await, "jobs", *stream, response);
  };
  routes_.push_back({"GET", "/api/v1/watch/simulationjobs", watch});
  routes_.push_back({"GET", "/api/v1/watch/namespaces/{namespace}/simulationjobs", watch});
}

void Handlers::AddClusters() {
  const std::string all = "/api/v1/namespaces/{namespace}/simulatedclusters";
  const std::string one = all + "/{name}";
  routes_.push_back({"GET", "/api/v1/simulatedclusters",
                     [this](const Request& request, const PathParts&, Response* response) {
                       AnswerList(api_.ListClusters(""), "SimulatedCluster", request, response);
                     }});
  routes_.push_back(
      {"GET", all, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerList(api_.ListClusters(parts[0]), "SimulatedCluster", request, response);
       }});
  routes_.push_back(
      {"POST", all, [this](const Request& request, const PathParts& parts, Response* response) {
         const auto document = ReadDocument(request, response);
         if (!document) return;
         const auto created = api_.CreateCluster(parts[0], *document, WriterOf(request));
         if (!created) return Answer(created.error(), request, response);
         AnswerCreated(*created, request, response);
       }});
  routes_.push_back(
      {"GET", one, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerObject(api_.GetCluster(NameOf(parts)), request, response);
       }});
  routes_.push_back(
      {"DELETE", one, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerObject(api_.DeleteCluster(NameOf(parts), WriterOf(request)), request, response);
       }});
}

void Handlers::CreateJob(const Request& request, const PathParts& parts, Response* response) {
  const auto document = ReadDocument(request, response);
  if (!document) return;
  std::optional<IdempotencyKey> key;
  if (request.has_header("Idempotency-Key")) {
    const base::Digest digest = base::Hash128(request.body.data(), request.body.size());
    key = {request.get_header_value("Idempotency-Key"), StrCat(digest.high, "-", digest.low)};
    if (key->key.empty() || key->key.size() > kKeyBytesMax) {
      return Answer({ErrorCode::kInvalidArgument,
                     StrCat("Idempotency-Key must have 1 to ", kKeyBytesMax, " characters"),
                     {}},
                    request, response);
    }
  }
  const auto created = api_.CreateJob(parts[0], *document, key, WriterOf(request));
  if (!created) {
    // RFC draft on Idempotency-Key: another body under the same key is 422.
    const bool reused = key && created.error().code == ErrorCode::kFailedPrecondition &&
                        !created.error().is_forbidden;
    return Answer(created.error(), reused ? 422 : StatusOf(created.error()), request, response);
  }
  if (created->repeated) response->set_header("Idempotent-Replayed", "true");
  AnswerCreated(created->object, request, response);
}

void Handlers::PatchJob(const Request& request, const PathParts& parts, Response* response) {
  const auto patch = ReadMergePatch(request, response);
  if (!patch) return;
  for (const bool suspend : {true, false}) {
    if (*patch != json{{"spec", {{"suspend", suspend}}}}) continue;
    return AnswerObject(api_.SetSuspend(NameOf(parts), suspend, WriterOf(request)), request,
                        response);
  }
  Answer({ErrorCode::kInvalidArgument,
          "only spec.suspend can be changed: {\"spec\": {\"suspend\": true or false}}",
          {}},
         422, request, response);
}

void Handlers::DeleteJob(const Request& request, const PathParts& parts, Response* response) {
  if (request.has_header("If-Match")) {
    const auto present = api_.GetJob(NameOf(parts));
    if (!present) return Answer(present.error(), request, response);
    const std::string tag =
        "\"" + (*present)["metadata"]["resourceVersion"].get<std::string>() + "\"";
    if (request.get_header_value("If-Match") != tag) {
      return Answer({ErrorCode::kFailedPrecondition, "the job has changed since", {}}, 412, request,
                    response);
    }
  }
  // A running job is gone when its agents are.
  AnswerDeleted(api_.DeleteJob(NameOf(parts), WriterOf(request)), request, response);
}

std::optional<Stream> Handlers::OpenStream(const Request& request, Response* response) {
  const std::string client = http::ClientOf(request.remote_addr);
  const auto opened = streams_->Open(client);
  if (opened == StreamState::Opened::kYes) {
    const auto state = streams_;
    return Stream{state, {nullptr, [state, client](void*) { state->Close(client); }}};
  }
  const bool own = opened == StreamState::Opened::kTooManyOfClient;
  const std::size_t most = own ? streams_->client_max() : streams_->streams_max();
  Answer({ErrorCode::kResourceExhausted,
          StrCat(most, own ? " streams of this client" : " streams",
                 " are open, and there may be no more; close some, or try again later"),
          {}},
         own ? 429 : 503, request, response);
  return std::nullopt;
}

void Handlers::GetLog(const Request& request, const PathParts& parts, Response* response) {
  const auto present = api_.GetJob(NameOf(parts));
  if (!present) return Answer(present.error(), request, response);
  LogFormat format = {.follow = IsSet(request, "follow"),
                      .prefix = IsSet(request, "prefix"),
                      .timestamps = IsSet(request, "timestamps"),
                      .offset = 0};
  if (request.has_param("offset")) {
    const auto offset = base::ParseInteger(request.get_param_value("offset"));
    if (!offset || *offset < 0) {
      return Answer({ErrorCode::kInvalidArgument, "offset must be a number of bytes", {}}, request,
                    response);
    }
    format.offset = static_cast<std::uint64_t>(*offset);
  }
  const auto stream = OpenStream(request, response);
  if (stream) StreamLog(&api_, *stream, NameOf(parts), format, response);
}

void Handlers::GetComparison(const Request& request, const PathParts& parts, Response* response) {
  const auto first = api_.GetJob(NameOf(parts));
  if (!first) return Answer(first.error(), request, response);
  const auto second = api_.GetJob({parts[2], parts[3]});
  if (!second) return Answer(second.error(), request, response);
  AnswerJson(shown::CompareJobs(*first, *second), 200, response);
}

void Handlers::GetTimeline(const Request& request, const PathParts& parts, Response* response) {
  const auto file = api_.FindTimeline(NameOf(parts), BearerToken(request));
  if (!file) return Answer(file.error(), request, response);
  SendFile({.file = *file, .name = parts[1] + ".pftrace"}, request, response);
}

void Handlers::GetRecording(const Request& request, const PathParts& parts, Response* response) {
  const auto file = api_.FindRecording(NameOf(parts), BearerToken(request));
  if (!file) return Answer(file.error(), request, response);
  SendFile({.file = *file, .name = parts[1] + ".eidrec"}, request, response);
}

void Handlers::SendFile(const Attachment& attachment, const Request& request, Response* response) {
  const auto file =
      std::make_shared<std::ifstream>(attachment.file.path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file->tellg();
  if (!*file || size < 0) {
    return Answer({ErrorCode::kNotFound, attachment.name + " cannot be read", {}}, request,
                  response);
  }
  file->seekg(0);
  response->set_header("Content-Disposition", "attachment; filename=\"" + attachment.name + "\"");
  response->set_content_provider(
      static_cast<std::size_t>(size), "application/octet-stream",
      [file, copy = attachment.file.copy, block = std::string(kFileBlockBytes, '\0')](
          std::size_t, std::size_t length, httplib::DataSink& sink) mutable {
        file->read(block.data(), static_cast<std::streamsize>(std::min(block.size(), length)));
        const auto count = static_cast<std::size_t>(file->gcount());
        return count > 0 && sink.write(block.data(), count);
      });
}

void Handlers::GetEvents(const Request& request, const PathParts& parts, Response* response) {
  const auto present = api_.GetJob(NameOf(parts));
  if (!present) return Answer(present.error(), request, response);
  const auto stream = OpenStream(request, response);
  if (!stream) return;
  StreamEvents(
      [this, job = NameOf(parts)](std::int64_t after, std::chrono::milliseconds timeout) {
        return api_.AwaitChange(job, after, timeout);
      },
      *stream, response);
}

}  // namespace eidolon::controller::rest
