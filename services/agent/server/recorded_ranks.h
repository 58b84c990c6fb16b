// The ranks of a recording in the place of the job's command: they open sessions as processes do,
// and write their records from the agent's own main loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/agent/recording/playback.h"
#include "services/agent/server/job_parts.h"
#include "services/base/error.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::server {

// Owns the processes' side of each session. Main loop only.
class RecordedRanks {
 public:
  // Interface through which the agent serves processes.
  struct Host {
    std::function<void(int connection, const ::eidolon::ring::Hello&)> on_hello;
    std::function<void(int connection)> on_hang_up;  // The agent closes its end.
    std::function<void(std::int32_t rank, std::uint64_t sequence, base::SimTime told)> on_iteration;
  };
  // Opens the recording and introduces its ranks of this server. The error says why it does not
  // answer for the job.
  static base::Result<std::unique_ptr<RecordedRanks>> Start(const JobParts& job, Host host);
  ~RecordedRanks();
  RecordedRanks(const RecordedRanks&) = delete;
  RecordedRanks& operator=(const RecordedRanks&) = delete;

  // Writes what can be written; ranks that have nothing left hang up. True when something moved.
  base::Result<bool> Advance();
  bool have_ended() const { return ranks_.empty(); }

 private:
  struct Rank;
  RecordedRanks(::eidolon::recording::RecordingFile file, Host host);
  base::Result<void> Introduce(const JobParts& job,
                               const ::eidolon::recording::RecordedRank& recorded,
                               std::uint32_t host_permille);

  ::eidolon::recording::RecordingFile file_;
  Host host_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace eidolon::agent::server
