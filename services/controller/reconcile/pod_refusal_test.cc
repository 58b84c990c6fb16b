// Messages as API server, job controller, Kyverno and Gatekeeper write them.
#include "services/controller/reconcile/pod_refusal.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace eidolon::controller::reconcile {
namespace {

using Kind = PodRefusal::Kind;

struct Row {
  int status;
  const char* message;
  Kind kind;
  const char* reason;
};

TEST(PodRefusalTest, TellsWhatMayPassFromWhatWillNot) {
  const Row rows[] = {
      {403,
       "pods \"train-check-x\" is forbidden: exceeded quota: compute, requested: "
       "requests.cpu=2, used: requests.cpu=3, limited: requests.cpu=4",
       Kind::kWaits, "QuotaExceeded"},
      {403,
       "pods \"a\" is forbidden: failed quota: compute: must specify limits.memory for: server",
       Kind::kFails, "PodRefused"},
      {403, "pods \"a\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 4Gi",
       Kind::kFails, "PodRefused"},
      {403, "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
       Kind::kFails, "PodSecurityViolation"},
      {403, "pods \"a\" is forbidden: no PriorityClass with name urgent was found", Kind::kFails,
       "PodRefused"},
      {400,
       "admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource "
       "Pod/team/train-0 was blocked due to the following policies \n\nrequire-team-label:\n  "
       "check-team: 'validation error: label team is required'",
       Kind::kFails, "PodRefused"},
      {403,
       "admission webhook \"validation.gatekeeper.sh\" denied the request: [must-have-owner] you "
       "must provide labels: {\"owner\"}",
       Kind::kFails, "PodRefused"},
      {409, "admission webhook \"odd.example\" denied the request: no", Kind::kFails, "PodRefused"},
      {422,
       "pods \"a\" is invalid: : ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied "
       "request: images need a digest",
       Kind::kFails, "PodRefused"},
      {500,
       "Internal error occurred: failed calling webhook \"validate.kyverno.svc-fail\": failed to "
       "call webhook: Post \"https://kyverno-svc\": context deadline exceeded",
       Kind::kWaits, "AdmissionUnavailable"},
      {403, "pods \"a\" is forbidden: error looking up service account team/default: not found",
       Kind::kWaits, "AdmissionUnavailable"},
      {403,
       "pods is forbidden: User \"system:serviceaccount:eidolon-system:c\" cannot create resource "
       "\"pods\" in API group \"\" in the namespace \"team\"",
       Kind::kWaits, "AdmissionUnavailable"},
      {403,
       "services \"a\" is forbidden: User \"system:serviceaccount:eidolon-system:c\" cannot get "
       "resource \"services\" in API group \"\" in the namespace \"team\"",
       Kind::kWaits, "AdmissionUnavailable"},
      {400, "admission webhook \"counts.example\" does not support dry run", Kind::kNone, ""},
      {500, "etcdserver: request timed out", Kind::kNone, ""},
      {429, "too many requests", Kind::kNone, ""},
      {409,
       "Service 'a' of namespace 'team' exists and is not controlled by SimulationJob 'a': delete",
       Kind::kWaits, "NameTaken"},
      {0, "connection refused", Kind::kNone, ""},
  };
  for (const Row& row : rows) {
    const PodRefusal refusal = ClassifyRefusal(row.status, row.message);
    EXPECT_EQ(refusal.kind, row.kind) << row.message;
    EXPECT_EQ(refusal.reason, row.reason) << row.message;
    EXPECT_EQ(refusal.message, row.kind == Kind::kNone ? "" : row.message);
  }
}

TEST(PodRefusalTest, WhatIsTooLargeFailsAndSaysWhatToShorten) {
  const std::pair<int, std::string> rows[] = {
      {413, "Request entity too large: limit is 3145728"},
      {413, ""},
      {500, "etcdserver: request is too large"},
      {403, "etcdserver: request is too large"},  // As a condition repeats it.
      {500, "rpc error: trying to send message larger than max (2500000 vs. 2097152)"}};
  for (const auto& [status, message] : rows) {
    const PodRefusal refusal = ClassifyRefusal(status, message);
    EXPECT_EQ(refusal.kind, Kind::kFails) << message;
    EXPECT_EQ(refusal.reason, "TooLarge") << message;
    EXPECT_TRUE(refusal.message.starts_with(message)) << refusal.message;
    EXPECT_NE(refusal.message.find("shorten spec.podTemplate"), std::string::npos);
  }
}

TEST(PodRefusalTest, TakesTheWordsOutOfAnEvent) {
  const PodRefusal refusal = ClassifyRefusal(
      403, "Error creating: pods \"train-0-\" is forbidden: exceeded quota: compute");

  EXPECT_EQ(refusal.message, "pods \"train-0-\" is forbidden: exceeded quota: compute");
}

}  // namespace
}  // namespace eidolon::controller::reconcile
