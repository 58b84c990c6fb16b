// Any bytes as a request: "METHOD path?query", header lines, an empty line, the body. What a route
// answers has a status of HTTP, and a body that is a document when it says so.
#include <httplib.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/job.h"
#include "services/controller/rest/api.h"
#include "services/controller/rest/handlers.h"
#include "services/controller/rest/origin.h"
#include "services/controller/sweep/change.h"

namespace eidolon::controller::rest {
namespace {

std::unexpected<ApiError> Refused(job::Problems problems) {
  return std::unexpected(
      ApiError{base::ErrorCode::kInvalidArgument, "the document is wrong", std::move(problems)});
}

std::unexpected<ApiError> Missing(const ObjectName& name) {
  return std::unexpected(ApiError{base::ErrorCode::kNotFound, "no '" + name.name + "'", {}});
}

nlohmann::json Stored(nlohmann::json document) {
  document["metadata"]["resourceVersion"] = "1";
  return document;
}

nlohmann::json Named(const ObjectName& name) {
  return Stored({{"metadata", {{"namespace", name.name_space}, {"name", name.name}}}});
}

// The same of sweeps.
class FuzzSweepApi final : public SweepApi {
 public:
  ApiResult<nlohmann::json> CreateSweep(const std::string&, const nlohmann::json& document,
                                        const Writer&) override {
    if (!document.is_object() || !document.contains("metadata") ||
        !document["metadata"].is_object() || !document["metadata"].contains("name") ||
        !document["metadata"]["name"].is_string()) {
      return Refused({{"/metadata", "is required"}});
    }
    return Stored(document);
  }
  ApiResult<std::vector<nlohmann::json>> ListSweeps(const std::string& name_space) override {
    return std::vector<nlohmann::json>{Named({name_space, "a"})};
  }
  ApiResult<nlohmann::json> GetSweep(const ObjectName& sweep) override { return Named(sweep); }
  ApiResult<nlohmann::json> DeleteSweep(const ObjectName& sweep, const Writer&) override {
    return Missing(sweep);
  }
  ApiResult<JobChange> AwaitSweep(const ObjectName& sweep, std::int64_t,
                                  std::chrono::milliseconds) override {
    return JobChange{Named(sweep), 1, true};
  }
  ApiResult<nlohmann::json> PatchSweep(const ObjectName& sweep, const nlohmann::json& patch,
                                       const Writer&) override {
    const nlohmann::json present = {
        {"metadata", {{"name", sweep.name}}},
        {"spec",
         {{"job", {{"command", {"true"}}, {"servers", 1}}}, {"matrix", {{"servers", {1, 2}}}}}}};
    sweep::SweepChange change = sweep::ReadSweepChange(present, patch, job::Mode::kEmbedded);
    if (!change.problems.empty()) return Refused(std::move(change.problems));
    nlohmann::json patched = present;
    patched.merge_patch(change.patch);
    CHECK(sweep::FixedDigestOf(patched) == sweep::FixedDigestOf(present));
    return Named(sweep);
  }
  ApiResult<ListChange> AwaitSweeps(const std::string&, std::int64_t after, std::size_t,
                                    std::chrono::milliseconds) override {
    return ListChange{.changed = {}, .present = {}, .version = after};
  }
};

// Reads documents as the controller does, and knows one job by every name.
class FuzzApi final : public Api {
 public:
  SweepApi& sweeps() override { return sweeps_; }
  ApiResult<Created> CreateJob(const std::string&, const nlohmann::json& document,
                               const std::optional<IdempotencyKey>&, const Writer&) override {
    job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
    if (!parsed.problems.empty()) return Refused(std::move(parsed.problems));
    return Created{Stored(document), false};
  }
  ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) override {
    return std::vector<nlohmann::json>{Named({name_space, "a"}), Named({name_space, "b"})};
  }
  ApiResult<nlohmann::json> GetJob(const ObjectName& job) override { return Named(job); }
  ApiResult<nlohmann::json> DeleteJob(const ObjectName& job, const Writer&) override {
    return Named(job);
  }
  ApiResult<nlohmann::json> SetSuspend(const ObjectName& job, bool, const Writer&) override {
    return Named(job);
  }
  ApiResult<JobChange> AwaitChange(const ObjectName& job, std::int64_t,
                                   std::chrono::milliseconds) override {
    return JobChange{Named(job), 1, true};
  }
  ApiResult<ListChange> AwaitJobs(const std::string&, std::int64_t after, std::size_t,
                                  std::chrono::milliseconds) override {
    return ListChange{.changed = {}, .present = {}, .version = after};
  }
  ApiResult<LogPart> ReadLog(const ObjectName&, std::uint64_t offset,
                             std::chrono::milliseconds) override {
    return LogPart{.entries = {}, .next_offset = offset, .ended = true};
  }
  ApiResult<Output> FindTimeline(const ObjectName& job, const std::string&) override {
    return Missing(job);
  }
  ApiResult<Output> FindRecording(const ObjectName& job, const std::string&) override {
    return Missing(job);
  }
  ApiResult<nlohmann::json> CreateCluster(const std::string&, const nlohmann::json& document,
                                          const Writer&) override {
    job::ParsedCluster parsed = job::ParseCluster(document);
    if (!parsed.problems.empty()) return Refused(std::move(parsed.problems));
    return Stored(document);
  }
  ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string&) override {
    return std::vector<nlohmann::json>();
  }
  ApiResult<nlohmann::json> GetCluster(const ObjectName& cluster) override {
    return Missing(cluster);
  }
  ApiResult<nlohmann::json> DeleteCluster(const ObjectName& cluster, const Writer&) override {
    return Missing(cluster);
  }
  base::Result<void> CheckReady() override { return {}; }
  std::string MetricsText() override { return ""; }
  void CountRequest(const std::string&, int) override {}
  void CountRefusal(const std::string&) override {}
  void SetConnections(std::size_t) override {}

 private:
  FuzzSweepApi sweeps_;
};

// The text before the separator, which is taken off `rest` together with it.
std::string_view TakeUntil(char separator, std::string_view* rest) {
  const std::size_t end = std::min(rest->find(separator), rest->size());
  const std::string_view taken = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return taken;
}

httplib::Request Parse(std::string_view text) {
  httplib::Request request;
  std::string_view line = TakeUntil('\n', &text);
  request.method = TakeUntil(' ', &line);
  request.path = TakeUntil('?', &line);
  for (const std::string_view part : base::Split(line, '&')) {
    std::string_view value = part;
    const std::string_view name = TakeUntil('=', &value);
    if (!name.empty()) request.params.emplace(name, value);
  }
  while (!text.empty()) {
    std::string_view value = TakeUntil('\n', &text);
    if (value.empty()) break;
    const std::string_view name = TakeUntil(':', &value);
    request.headers.emplace(name, value);
  }
  request.body = text;
  return request;
}

// Streams are not read: a body that goes on has its own tests.
void CheckAnswer(const httplib::Response& response) {
  CHECK(response.status == -1 || (response.status >= 200 && response.status < 600));
  const std::string type = response.get_header_value("Content-Type");
  if (type.find("json") == std::string::npos || response.body.empty()) return;
  CHECK(!nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false).is_discarded());
}

void Run(std::string_view data) {
  FuzzApi api;
  Handlers handlers(&api, /*authorizer=*/nullptr, /*streams_max=*/2);
  static const auto patterns = [&] {
    std::vector<std::regex> list;
    for (const Route& route : handlers.routes()) list.emplace_back(ToPattern(route.path));
    return list;
  }();
  const httplib::Request request = Parse(data);
  const std::string host = request.get_header_value("Host");
  // What means this machine has no room for another name.
  if (IsLoopback(HostOf(host))) CHECK(HostOf(host).size() <= sizeof "127.255.255.255.");
  CHECK(!IsSameOrigin("null", host));
  CHECK(host.empty() || IsSameOrigin("http://" + host, host));
  constexpr std::size_t kPathBytesMax = 1000;
  if (request.path.size() > kPathBytesMax) return;
  for (std::size_t at = 0; at < patterns.size(); ++at) {
    const Route& route = handlers.routes()[at];
    std::smatch match;
    if (route.method != request.method || !std::regex_match(request.path, match, patterns[at])) {
      continue;
    }
    PathParts parts;
    for (std::size_t part = 1; part < match.size(); ++part) parts.push_back(match[part].str());
    httplib::Response response;
    route.handler(request, parts, &response);
    CheckAnswer(response);
    return;
  }
}

}  // namespace
}  // namespace eidolon::controller::rest

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  eidolon::controller::rest::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
