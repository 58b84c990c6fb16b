// Follows a job until it is over: its output, and its progress on a terminal.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/cli/client.h"
#include "services/cli/terminal.h"

namespace eidolon::cli {

struct FollowOptions {
  std::string name_space = "default";
  std::string name;
  bool logs = true;
  bool prefix = false;  // Which server a line comes from.
  // Decides by each status whether to go on; empty: yes. The job itself is not touched.
  std::function<bool(const nlohmann::json& job)> goes_on = {};
};

// Exit status of a command that waited for a job.
constexpr int kPredicted = 0;
constexpr int kFailed = 1;
// Predicted from fewer iterations than were asked for, because the program ended before.
constexpr int kFewerIterations = 3;

// One of these for a job that is over.
int ExitStatusOf(const nlohmann::json& job);

// The job without the output that its verdict quotes, for who has seen the logs.
nlohmann::json WithoutQuotedOutput(nlohmann::json job);

// The path of a job's resource.
std::string JobPath(const std::string& name_space, const std::string& name = "");

// The job's document once it is over, or as it was when `goes_on` was false. kNotFound when it was
// deleted meanwhile.
base::Result<nlohmann::json> Follow(const Client& client, const FollowOptions& options,
                                    Terminal* terminal);

// Splits a stream of server-sent events into events. Not thread safe.
class EventSplitter {
 public:
  struct Event {
    std::string type;
    std::string data;
  };
  // Takes what has come and answers true and one event, as long as there is a complete one.
  void Add(std::string_view text) { buffer_ += text; }
  bool Next(Event* event);

 private:
  std::string buffer_;
};

}  // namespace eidolon::cli
