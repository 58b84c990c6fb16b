#include "services/controller/kube_host/peer_timeline.h"

#include <httplib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::kube_host {

using base::ErrorCode;
using base::StrCat;
using rest::ApiError;
using rest::ApiResult;

namespace {

// A pod that is gone answers nothing at all.
constexpr int kConnectSeconds = 3;
constexpr int kReadSeconds = 60;
constexpr std::size_t kProblemBytesMax = 4096;

// What a problem document says.
std::string DetailOf(const std::string& problem, int status) {
  const auto document = nlohmann::json::parse(problem, nullptr, /*allow_exceptions=*/false);
  if (document.is_object() && document.contains("detail") && document["detail"].is_string()) {
    return document["detail"];
  }
  return StrCat("it answered ", status);
}

}  // namespace

ApiResult<rest::Output> FetchTimeline(const Peer& peer, const rest::ObjectName& job,
                                      outputs::OutputStore* store) {
  auto copy = store->MakeCopy();
  if (!copy) return std::unexpected(ApiError{copy.error().code, copy.error().message, {}});
  std::ofstream file(*copy, std::ios::trunc | std::ios::binary);
  httplib::Client client("http://" + peer.controller);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kReadSeconds);
  client.set_bearer_token_auth(peer.token.c_str());
  const std::string path =
      StrCat("/api/v1/namespaces/", job.name_space, "/simulationjobs/", job.name, "/timeline");
  int status = 0;
  std::uint64_t bytes = 0;
  std::string problem;
  const auto got = client.Get(
      path.c_str(), httplib::Headers(),
      [&](const httplib::Response& response) {
        status = response.status;
        return true;
      },
      [&](const char* data, std::size_t count) {
        if (status != 200) {
          if (problem.size() + count <= kProblemBytesMax) problem.append(data, count);
          return true;
        }
        bytes += count;
        file.write(data, static_cast<std::streamsize>(count));
        return bytes <= store->job_bytes_max() && file.good();
      });
  file.close();
  if (got && status == 200 && file) return rest::Output{.path = *copy, .is_copy = true};
  std::error_code ignored;
  std::filesystem::remove(*copy, ignored);
  const std::string what =
      StrCat("the timeline of '", job.name, "' is with the controller at ", peer.controller);
  if (status == 0) {
    return std::unexpected(
        ApiError{ErrorCode::kUnavailable,
                 StrCat(what, ", which does not answer; with its pod its timelines go"),
                 {}});
  }
  if (status != 200) {
    return std::unexpected(
        ApiError{ErrorCode::kNotFound, StrCat(what, ": ", DetailOf(problem, status)), {}});
  }
  return std::unexpected(
      ApiError{ErrorCode::kInternal, what + ", and cannot be copied from there", {}});
}

}  // namespace eidolon::controller::kube_host
