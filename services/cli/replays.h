// Jobs run by this command itself, on services that it starts once.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "services/base/error.h"
#include "services/cli/client.h"
#include "services/cli/embedded.h"
#include "services/cli/job_file.h"
#include "services/cli/run_data.h"
#include "services/cli/terminal.h"

namespace eidolon::cli {

// Thread safe. As many jobs run at a time as the options say.
class Replays {
 public:
  // `options` names no data folder or the one to keep the jobs in.
  static base::Result<std::unique_ptr<Replays>> Start(EmbeddedOptions options);
  ~Replays();

  // The job's document once it is over; whatever became of it. Where `goes_on` is false for a
  // status, the job is ended, and the document is that with this status.
  base::Result<nlohmann::json> Predict(
      const nlohmann::json& document,
      const std::function<bool(const nlohmann::json& job)>& goes_on = {});
  // A file that the last job of this name has left.
  base::Result<void> Fetch(const std::string& job, const std::string& what,
                           const std::string& file) const;

 private:
  explicit Replays(RunData data) : data_(std::move(data)) {}

  RunData data_;
  std::unique_ptr<Embedded> embedded_;
  std::unique_ptr<Client> client_;
  Terminal terminal_ = Terminal::Standard(/*raw=*/false);  // Of progress.
};

}  // namespace eidolon::cli
