#include "services/controller/reconcile/pod_refusal.h"

#include <string_view>

#include "services/controller/job/condition.h"

namespace eidolon::controller::reconcile {
namespace {

namespace reason = job::reason;
using Kind = PodRefusal::Kind;

// Messages are the only place where the API server tells who refused: all are 403 Forbidden, or
// whatever status a webhook gives.
struct Row {
  std::string_view part;
  Kind kind;
  std::string_view reason;
};

// The first that fits counts.
constexpr Row kRows[] = {
    {"violates PodSecurity", Kind::kFails, reason::kPodSecurityViolation},
    // Asked on trial (dryRun), which a webhook with side effects cannot be: it will speak when
    // asked in earnest.
    {"does not support dry run", Kind::kNone, ""},
    {"exceeded quota", Kind::kWaits, reason::kQuotaExceeded},
    {"status unknown for quota", Kind::kWaits, reason::kQuotaExceeded},
    {"failed calling webhook", Kind::kWaits, reason::kAdmissionUnavailable},
    {"failed to call webhook", Kind::kWaits, reason::kAdmissionUnavailable},
    // Message of a namespace that is new.
    {"error looking up service account", Kind::kWaits, reason::kAdmissionUnavailable},
    // Our own permissions, which an administrator gives by namespace.
    {"cannot get resource", Kind::kWaits, reason::kAdmissionUnavailable},
    {"cannot create resource", Kind::kWaits, reason::kAdmissionUnavailable},
    {"cannot patch resource", Kind::kWaits, reason::kAdmissionUnavailable},
    {"is being terminated", Kind::kWaits, reason::kAdmissionUnavailable},
    // Messages of etcd, of the connection to it, and of the API server.
    {"request is too large", Kind::kFails, reason::kTooLarge},
    {"message larger than max", Kind::kFails, reason::kTooLarge},
    {"Request entity too large", Kind::kFails, reason::kTooLarge},
    // Ours: whoever has the name may give it up.
    {"exists and is not controlled by", Kind::kWaits, reason::kNameTaken},
};

constexpr int kTooLargeStatus = 413;
constexpr std::string_view kEventPrefix = "Error creating: ";
constexpr std::string_view kShorten =
    "; the cluster cannot store an object of this size: shorten spec.podTemplate, spec.env and "
    "spec.envFrom, or put large parts into a ConfigMap or the image";

}  // namespace

PodRefusal ClassifyRefusal(int status, const std::string& message) {
  std::string text = message;
  if (text.starts_with(kEventPrefix)) text.erase(0, kEventPrefix.size());
  for (const Row& row : kRows) {
    if (text.find(row.part) == text.npos) continue;
    if (row.kind == Kind::kNone) return {};
    if (row.reason == reason::kTooLarge) text += kShorten;
    return {row.kind, std::string(row.reason), text};
  }
  if (status == kTooLargeStatus) {
    text += kShorten;
    return {Kind::kFails, std::string(reason::kTooLarge), text};
  }
  // LimitRange, webhooks and policies that deny, priority classes that are not there, fields that a
  // pod cannot have.
  if (status == 400 || status == 403 || status == 422) {
    return {Kind::kFails, std::string(reason::kPodRefused), text};
  }
  // A webhook may deny with any status.
  if (text.find("denied the request") != text.npos) {
    return {Kind::kFails, std::string(reason::kPodRefused), text};
  }
  return {};
}

}  // namespace eidolon::controller::reconcile
