// What the API server has against pods: admission (quota, LimitRange, Pod Security, webhooks of
// policy engines) refuses them, in words of its own.
#pragma once

#include <string>

namespace eidolon::controller::reconcile {

struct PodRefusal {
  enum class Kind {
    kNone,   // Nothing that the pods are to blame for.
    kWaits,  // It may be given later, without a change of the job.
    kFails,  // Such pods will never be taken.
  };
  Kind kind = Kind::kNone;
  std::string reason;   // Of a condition.
  std::string message;  // In the words of who refused.

  explicit operator bool() const { return kind != Kind::kNone; }
};

// `status`: of HTTP; 0: there was no answer. `message`: of the answer, or of an event FailedCreate
// (whose status is 403).
PodRefusal ClassifyRefusal(int status, const std::string& message);

}  // namespace eidolon::controller::reconcile
