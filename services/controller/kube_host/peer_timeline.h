// A timeline that another controller has: who answers REST is not always who led when the job ran.
#pragma once

#include <string>

#include "services/controller/outputs/output_store.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

struct Peer {
  std::string controller;  // host:port of its REST.
  std::string token;       // Of who asks us: the other one decides again who may read.
};

// Fetches it into a copy of the store's folder.
rest::ApiResult<rest::Output> FetchTimeline(const Peer& peer, const rest::ObjectName& job,
                                            outputs::OutputStore* store);

}  // namespace eidolon::controller::kube_host
