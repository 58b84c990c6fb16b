#include "services/cli/sweep_document.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/cli/run_document.h"
#include "services/controller/job/document.h"
#include "services/controller/job/metadata.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::cli {

using base::Result;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// "GPUs 2.yaml" as "gpus-2".
std::string NameOfFile(const std::string& path) {
  std::string name;
  for (char c : fs::path(path).stem().string()) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_digit = c >= '0' && c <= '9';
    if (name.empty() && !is_lower) continue;
    name += is_lower || is_digit ? c : '-';
  }
  name.resize(std::min(name.size(), controller::sweep::kSweepNameMax));
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "sweep" : name;
}

}  // namespace

Result<json> ReadSweptJob(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return std::unexpected(text.error());
  auto documents = controller::job::ParseDocuments(*text);
  if (!documents) return base::Wrap(path, documents.error());
  json document = std::move(documents->front());
  AnchorCodeDirectory(&document, fs::path(path).parent_path().string());
  return document;
}

Result<json> MakeSweepDocument(std::string_view text, const std::string& path) {
  const auto checked = controller::sweep::ParseSweepFile(text);
  if (!checked) return std::unexpected(checked.error());
  auto documents = controller::job::ParseYaml(text);
  if (!documents) return std::unexpected(documents.error());
  json document = std::move(documents->front());
  if (!document.contains("kind")) {
    document = {{"apiVersion", controller::job::kApiVersion},
                {"kind", controller::sweep::kSweepKind},
                {"metadata", {{"name", NameOfFile(path)}}},
                {"spec", std::move(document)}};
  }
  const fs::path folder = fs::absolute(path).parent_path();
  json& spec = document["spec"];
  if (!checked->job_file.empty()) {
    const auto job = ReadSweptJob((folder / checked->job_file).lexically_normal().string());
    if (!job) return std::unexpected(job.error());
    spec["job"] = job->value("spec", json::object());
  } else if (checked->job.is_object()) {
    json job = {{"spec", std::move(spec["job"])}};
    AnchorCodeDirectory(&job, folder.string());
    spec["job"] = std::move(job["spec"]);
  }
  if (!checked->recording.empty()) {
    spec["recording"] = (folder / checked->recording).lexically_normal().string();
  }
  return document;
}

}  // namespace eidolon::cli
