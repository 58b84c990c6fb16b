// A file of a job that another controller has: who answers REST is not always who led when the job
// ran.
#pragma once

#include <string>

#include "services/controller/kube/client.h"
#include "services/controller/outputs/output_store.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

// Set of all controllers. A job's status says where its files are, and who may write a status must
// not thereby be given other people's tokens: only who is among these is sent one. Thread safe.
class Peers {
 public:
  // `service`: leads to all controllers of this installation; an empty name: nobody is known. The
  // client must outlive it.
  Peers(kube::Client* client, kube::ObjectKey service)
      : client_(*client), service_(std::move(service)) {}

  // Returns whether a controller has its REST at this address (host:port), ready or not.
  kube::Answer<bool> Has(const std::string& address) const;

 private:
  kube::Client& client_;
  const kube::ObjectKey service_;
};

struct PeerFile {
  std::string controller;  // host:port of its REST, one of the Peers.
  std::string what;        // "timeline" or "recording".
  std::string token;       // Of who asks us: the other one decides again who may read.
};

// Fetches it into a copy of the store's folder.
rest::ApiResult<rest::Output> FetchOutput(const PeerFile& file, const rest::ObjectName& job,
                                          outputs::OutputStore* store);

}  // namespace eidolon::controller::kube_host
