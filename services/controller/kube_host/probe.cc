#include "services/controller/kube_host/probe.h"

#include <httplib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;
using nlohmann::json;

constexpr std::chrono::seconds kPatience(10);
constexpr std::size_t kShownBytes = 300;

std::unexpected<base::Error> Wrong(const std::string& path, const httplib::Result& answer) {
  if (!answer) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("GET ", path, ": ", httplib::to_string(answer.error())));
  }
  return Fail(ErrorCode::kFailedPrecondition, StrCat("GET ", path, " answered ", answer->status,
                                                     ": ", answer->body.substr(0, kShownBytes)));
}

}  // namespace

base::Result<void> Probe(const ProbeOptions& options) {
  std::ifstream file(options.token_file);
  std::string token;
  if (!(file >> token)) {
    return Fail(ErrorCode::kNotFound, StrCat("no token in '", options.token_file, "'"));
  }
  httplib::Client client(options.url);
  client.set_connection_timeout(kPatience);
  client.set_read_timeout(kPatience);
  const auto ready = client.Get("/readyz");
  if (!ready || ready->status != 200) return Wrong("/readyz", ready);
  const std::string path =
      StrCat("/api/v1/namespaces/", options.name_space, "/simulationjobs?limit=1");
  const auto jobs = client.Get(path, {{"Authorization", "Bearer " + token}});
  const json list = jobs ? json::parse(jobs->body, nullptr, false) : json();
  if (!jobs || jobs->status != 200 || !list.is_object() || !list.contains("items")) {
    return Wrong(path, jobs);
  }
  return {};
}

}  // namespace eidolon::controller::kube_host
