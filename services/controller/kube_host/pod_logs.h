// Logs of several pods as one: pure, so that it can be tested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

struct PodLog {
  std::uint32_t server = 0;
  // Text as the API server gives it with timestamps: "2026-11-21T09:53:36.123456789Z text\n" each.
  std::string text;
};

// Lines in the order of their time, lines of one pod in their own order. What is younger than
// `until` ("2026-11-21T09:53:36.000000Z"; empty: nothing is) is left out: an older line of another
// pod may still come. Answers whole lines from byte `offset` of the result on.
rest::LogPart MergeLogs(const std::vector<PodLog>& logs, std::uint64_t offset,
                        const std::string& until);

}  // namespace eidolon::controller::kube_host
