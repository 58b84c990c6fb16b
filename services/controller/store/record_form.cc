#include "services/controller/store/record_form.h"

#include <nlohmann/json.hpp>

#include "services/controller/job/metadata.h"

namespace eidolon::controller::store {
namespace {

using nlohmann::json;

bool HasName(const std::string& name_space, const std::string& name) {
  return job::IsNamespaceName(name_space) && job::IsDnsLabel(name);
}

std::string DocumentDamage(const std::string& text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return "its document is no JSON object";
  for (const char* part : {"metadata", "spec"}) {
    const auto found = document.find(part);
    if (found == document.end() || !found->is_object()) {
      return std::string("its document has no ") + part;
    }
  }
  return "";
}

std::string StatusDamage(const std::string& text) {
  const json status = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!status.is_object()) return "its status is no JSON object";
  const auto conditions = status.find("conditions");
  if (conditions == status.end() || !conditions->is_array() || conditions->empty()) {
    return "its status has no conditions";
  }
  const auto warnings = status.find("warnings");
  if (warnings == status.end()) return "";
  if (!warnings->is_array()) return "its status has warnings that are not a list";
  for (const json& warning : *warnings) {
    if (!warning.is_string()) return "its status has a warning that is not a text";
  }
  return "";
}

constexpr char kNoName[] = "its document has a name that no object can have";

}  // namespace

std::string DamageOf(const StoredJob& job) {
  if (!job.damage.empty()) return job.damage;
  if (!HasName(job.name_space, job.name)) return kNoName;
  const std::string damage = DocumentDamage(job.document);
  return damage.empty() ? StatusDamage(job.status) : damage;
}

std::string DamageOf(const StoredCluster& cluster) {
  if (!cluster.damage.empty()) return cluster.damage;
  if (!HasName(cluster.name_space, cluster.name)) return kNoName;
  return DocumentDamage(cluster.document);
}

std::string DamageOf(const StoredSweep& sweep) {
  if (!sweep.damage.empty()) return sweep.damage;
  if (!HasName(sweep.name_space, sweep.name)) return kNoName;
  const std::string damage = DocumentDamage(sweep.document);
  if (!damage.empty()) return damage;
  const json status = json::parse(sweep.status, nullptr, /*allow_exceptions=*/false);
  if (!status.is_object()) return "its status is no JSON object";
  const auto phase = status.find("phase");
  return phase == status.end() || !phase->is_string() ? "its status has no phase" : "";
}

bool IsDocumentDamaged(const std::string& damage) {
  return damage.find("document") != std::string::npos;
}

}  // namespace eidolon::controller::store
