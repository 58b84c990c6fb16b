// Points that are known are never computed again, so what decides them must not change under them:
// only fields that steer the work may. The patch itself is checked, and also the document that it
// would give. A field that cannot change may still be in the patch with the value it has, because
// clients often send back the whole document. On Kubernetes kubectl can change the spec without
// this check; FixedDigestOf lets the controller notice it.
#include "services/controller/sweep/change.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/controller/job/fields.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::sweep {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 2> kChangingSpec = {"suspend", "concurrency"};
constexpr std::array<std::string_view, 2> kChangingMetadata = {"labels", "annotations"};

bool Has(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const json& PartOf(const json& tree, std::string_view key) {
  static const json kNone = json::object();
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found == tree.end() || found->is_null() ? kNone : *found;
}

json Patched(json value, const json& patch) {
  value.merge_patch(patch);
  return value;
}

// Puts what may change of one object of the sweep into `change`, and reports what differs else.
void ReadPart(const json& sweep, const json& patch, const std::string& part,
              const std::array<std::string_view, 2>& changing, SweepChange* change) {
  const json& wanted = patch[part];
  const std::string pointer = "/" + part;
  if (!wanted.is_object()) {
    change->problems.push_back({pointer, "must be an object, not " + job::DescribeValue(wanted)});
    return;
  }
  const json& present = PartOf(sweep, part);
  for (const auto& [name, value] : wanted.items()) {
    if (Has(changing, name)) {
      change->patch[part][name] = value;
      continue;
    }
    const bool is_there = present.contains(name);
    const bool is_same =
        is_there ? Patched({{name, present[name]}}, {{name, value}}) == json{{name, present[name]}}
                 : value.is_null();
    if (is_same) continue;
    change->problems.push_back({pointer + job::PointerTo(name),
                                "cannot be changed: delete the sweep and create another; "
                                "suspend, concurrency, labels and annotations can"});
  }
}

// Returns what is wrong with the values that the sweep would get.
job::Problems ProblemsOf(const json& sweep, const json& patch, job::Mode mode) {
  json metadata = Patched(json::object(), PartOf(patch, "metadata"));
  metadata["name"] = PartOf(sweep, "metadata").value("name", "");
  const json document = {{"apiVersion", job::kApiVersion},
                         {"kind", kSweepKind},
                         {"metadata", std::move(metadata)},
                         {"spec", Patched(PartOf(sweep, "spec"), PartOf(patch, "spec"))}};
  return ParseSweep(document, mode).problems;
}

}  // namespace

SweepChange ReadSweepChange(const json& sweep, const json& patch, job::Mode mode) {
  SweepChange change;
  if (!patch.is_object()) {
    change.problems.push_back({"", "must be an object, not " + job::DescribeValue(patch)});
    return change;
  }
  for (const auto& [name, value] : patch.items()) {
    if (name == "spec") {
      ReadPart(sweep, patch, name, kChangingSpec, &change);
    } else if (name == "metadata") {
      ReadPart(sweep, patch, name, kChangingMetadata, &change);
    } else if (value != PartOf(sweep, name)) {
      change.problems.push_back({job::PointerTo(name), "cannot be changed"});
    }
  }
  if (!change.problems.empty()) return change;
  change.problems = ProblemsOf(sweep, change.patch, mode);
  const json& spec = PartOf(sweep, "spec");
  change.of_spec = Patched(spec, PartOf(change.patch, "spec")) != spec;
  return change;
}

std::string FixedDigestOf(const json& sweep) {
  json spec = PartOf(sweep, "spec");
  for (const std::string_view name : kChangingSpec) spec.erase(std::string(name));
  const std::string text = spec.dump(-1, ' ', false, json::error_handler_t::replace);
  const base::Digest digest = base::Hash128(text.data(), text.size());
  return base::Hex(digest);
}

}  // namespace eidolon::controller::sweep
