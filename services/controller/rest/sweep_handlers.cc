// The routes of sweeps.
#include <httplib.h>

#include "services/controller/rest/answers.h"
#include "services/controller/rest/handlers.h"

namespace eidolon::controller::rest {

using httplib::Request;
using httplib::Response;

void Handlers::AddSweeps() {
  const std::string all = "/api/v1/namespaces/{namespace}/simulationsweeps";
  const std::string one = all + "/{name}";
  const char* kind = "SimulationSweep";
  routes_.push_back({"GET", "/api/v1/simulationsweeps",
                     [this, kind](const Request& request, const PathParts&, Response* response) {
                       AnswerList(api_.sweeps().ListSweeps(""), kind, request, response);
                     }});
  routes_.push_back(
      {"GET", all,
       [this, kind](const Request& request, const PathParts& parts, Response* response) {
         AnswerList(api_.sweeps().ListSweeps(parts[0]), kind, request, response);
       }});
  routes_.push_back(
      {"POST", all, [this](const Request& request, const PathParts& parts, Response* response) {
         CreateSweep(request, parts, response);
       }});
  routes_.push_back(
      {"GET", one, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerObject(api_.sweeps().GetSweep(NameOf(parts)), request, response);
       }});
  routes_.push_back(
      {"PATCH", one, [this](const Request& request, const PathParts& parts, Response* response) {
         const auto patch = ReadMergePatch(request, response);
         if (!patch) return;
         AnswerObject(api_.sweeps().PatchSweep(NameOf(parts), *patch, WriterOf(request)), request,
                      response);
       }});
  routes_.push_back(
      {"DELETE", one, [this](const Request& request, const PathParts& parts, Response* response) {
         AnswerDeleted(api_.sweeps().DeleteSweep(NameOf(parts), WriterOf(request)), request,
                       response);
       }});
  routes_.push_back({"GET", one + "/events",
                     [this](const Request& request, const PathParts& parts, Response* response) {
                       const auto present = api_.sweeps().GetSweep(NameOf(parts));
                       if (!present) return Answer(present.error(), request, response);
                       const auto stream = OpenStream(request, response);
                       if (!stream) return;
                       const auto await = [this, sweep = NameOf(parts)](
                                              std::int64_t after,
                                              std::chrono::milliseconds timeout) {
                         return api_.sweeps().AwaitSweep(sweep, after, timeout);
                       };
                       StreamEvents(await, *stream, response);
                     }});
  const auto watch = [this](const Request& request, const PathParts& parts, Response* response) {
    const auto stream = OpenStream(request, response);
    if (!stream) return;
    const auto await = [this, name_space = parts.empty() ? "" : parts[0]](
                           std::int64_t after, std::size_t known,
                           std::chrono::milliseconds timeout) {
      return api_.sweeps().AwaitSweeps(name_space, after, known, timeout);
    };
    StreamList(await, "sweeps", *stream, response);
  };
  routes_.push_back({"GET", "/api/v1/watch/simulationsweeps", watch});
  routes_.push_back({"GET", "/api/v1/watch/namespaces/{namespace}/simulationsweeps", watch});
}

void Handlers::CreateSweep(const Request& request, const PathParts& parts, Response* response) {
  const auto document = ReadDocument(request, response);
  if (!document) return;
  const auto created = api_.sweeps().CreateSweep(parts[0], *document, WriterOf(request));
  if (!created) return Answer(created.error(), request, response);
  AnswerCreated(*created, request, response);
}

}  // namespace eidolon::controller::rest
