// The status of a job names the controller that has its files, and a user who may write a status
// could name a machine of their own. The user's token goes along with the request, so the address
// must first be found among the EndpointSlices of this installation's Service; endpoints count
// whether they are ready or not. The answer is written to a copy, whose bytes the store counts and
// bounds: a peer is trusted with the token, not with the disk.
#include "services/controller/kube_host/peers.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::kube_host {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;

namespace {

// A pod that is gone answers nothing at all.
constexpr int kConnectSeconds = 3;
constexpr int kReadSeconds = 60;
constexpr std::size_t kProblemBytesMax = 4096;
constexpr char kPortName[] = "http";  // Of the Service's ports.

std::string HostAndPort(const std::string& ip, int port) {
  const bool is_v6 = ip.find(':') != std::string::npos;
  return is_v6 ? StrCat("[", ip, "]:", port) : StrCat(ip, ":", port);
}

// Returns what a problem document says.
std::string DetailOf(const std::string& problem, int status) {
  const auto document = json::parse(problem, nullptr, /*allow_exceptions=*/false);
  if (document.is_object() && document.contains("detail") && document["detail"].is_string()) {
    return document["detail"];
  }
  return StrCat("it answered ", status);
}

}  // namespace

kube::Answer<bool> Peers::Has(const std::string& address) const {
  if (service_.name.empty()) return false;
  const auto slices = client_.List(kube::kEndpointSlices, service_.name_space,
                                   StrCat("kubernetes.io/service-name=", service_.name));
  if (!slices) return std::unexpected(slices.error());
  for (const json& slice : slices->items) {
    for (const json& port : slice.value("ports", json::array())) {
      if (port.value("name", "") != kPortName) continue;
      for (const json& endpoint : slice.value("endpoints", json::array())) {
        for (const json& ip : endpoint.value("addresses", json::array())) {
          if (address == HostAndPort(ip, port.value("port", 0))) return true;
        }
      }
    }
  }
  return false;
}

ApiResult<rest::Output> FetchOutput(const PeerFile& wanted, const rest::ObjectName& job,
                                    outputs::OutputStore* store) {
  auto copy = store->MakeCopy();
  if (!copy) return std::unexpected(ApiError{copy.error().code, copy.error().message, {}});
  httplib::Client client("http://" + wanted.controller);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kReadSeconds);
  client.set_bearer_token_auth(wanted.token.c_str());
  const std::string path =
      StrCat("/api/v1/namespaces/", job.name_space, "/simulationjobs/", job.name, "/", wanted.what);
  int status = 0;
  std::string problem;
  base::Result<void> written;
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
        written = (*copy)->Append({data, count});
        return written.has_value();
      });
  if (got && status == 200) return rest::Output{.path = (*copy)->path(), .copy = *copy};
  const std::string what = StrCat("the ", wanted.what, " of '", job.name,
                                  "' is with the controller at ", wanted.controller);
  if (status == 0) {
    return std::unexpected(
        ApiError{ErrorCode::kUnavailable,
                 StrCat(what, ", which does not answer; what it keeps goes with its pod"),
                 {}});
  }
  if (status != 200) {
    return std::unexpected(
        ApiError{ErrorCode::kNotFound, StrCat(what, ": ", DetailOf(problem, status)), {}});
  }
  std::string why;
  if (!written) why = ": " + written.error().message;
  return std::unexpected(ApiError{written ? ErrorCode::kInternal : written.error().code,
                                  StrCat(what, ", and cannot be copied from there", why),
                                  {}});
}

}  // namespace eidolon::controller::kube_host
