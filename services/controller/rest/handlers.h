// What each route does: reads the request, asks the controller, writes the answer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/rest/api.h"
#include "services/controller/rest/login_handlers.h"
#include "services/controller/rest/routes.h"
#include "services/controller/rest/streams.h"

namespace eidolon::controller::rest {

// Thread safe: handlers run on all threads of the server.
class Handlers {
 public:
  // `authorizer`: null, or outlives it.
  Handlers(Api* api, Authorizer* authorizer, std::size_t streams_max);

  const std::vector<Route>& routes() const { return routes_; }
  void EndStreams() { streams_->stopping = true; }

 private:
  void AddPages();
  void AddJobs();
  void AddClusters();
  void AddSweeps();

  void CreateSweep(const httplib::Request& request, const PathParts& parts,
                   httplib::Response* response);
  void CreateJob(const httplib::Request& request, const PathParts& parts,
                 httplib::Response* response);
  void PatchJob(const httplib::Request& request, const PathParts& parts,
                httplib::Response* response);
  void DeleteJob(const httplib::Request& request, const PathParts& parts,
                 httplib::Response* response);
  void GetLog(const httplib::Request& request, const PathParts& parts, httplib::Response* response);
  void GetEvents(const httplib::Request& request, const PathParts& parts,
                 httplib::Response* response);
  // Compares the job that the path names first and the one that it names last.
  void GetComparison(const httplib::Request& request, const PathParts& parts,
                     httplib::Response* response);
  void GetTimeline(const httplib::Request& request, const PathParts& parts,
                   httplib::Response* response);
  void GetRecording(const httplib::Request& request, const PathParts& parts,
                    httplib::Response* response);
  struct Attachment {
    Output file;
    std::string name;  // For who saves it.
  };
  void SendFile(const Attachment& attachment, const httplib::Request& request,
                httplib::Response* response);
  // Counts a new stream, or answers that there are too many.
  std::optional<Stream> OpenStream(const httplib::Request& request, httplib::Response* response);

  Api& api_;
  LoginHandlers logins_;
  std::shared_ptr<StreamState> streams_;
  std::vector<Route> routes_;
};

}  // namespace eidolon::controller::rest
