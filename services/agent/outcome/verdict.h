// Why a job's share on this server ended, as the user will read it: pure, from facts to one
// outcome.
//
// The first cause counts. What happens because the job is being ended (ranks killed, services gone)
// does not change it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/agent/launch/command.h"
#include "services/agent/launch/host_memory.h"
#include "services/contract/folding/fold.h"

namespace eidolon::agent::outcome {

enum class Reason {
  kCompleted,
  kCommandFailed,
  kOutOfMemory,
  kDeadlock,
  kRankLost,
  kUnsupportedCall,
  kServiceLost,
  kStopped,
  kCollectiveMismatch,
  kRingDamaged,
  kPeerLost,
  kSessionLost,
  kRanksDiffer,  // Of a folded job: ranks of one class are not alike.
  kOutOfHostMemory,
};

struct Ending {
  Reason reason = Reason::kCompleted;
  std::string message;
  int exit_status = -1;  // Of the command; -1 when it has none of its own.
  std::vector<folding::Dimension> ranks_differ_by;  // kRanksDiffer.
};

// Facts about the job's processes, and the judgement.
class Verdict {
 public:
  struct Refusal {  // An emulated device had no memory left.
    int rank = 0;
    std::uint32_t device = 0;
    std::uint64_t asked_bytes = 0;
    std::uint64_t booked_bytes = 0;
    std::uint64_t capacity_bytes = 0;
  };
  struct RankDeath {
    int rank = 0;
    int pid = 0;
    launch::ExitStatus status;
  };

  void NoteRefusal(const Refusal& refusal) { refusal_ = refusal; }
  void NoteRefusedCall(const std::string& name, bool strict);
  void NoteErrorLine(const std::string& line);
  // A rank is ending because an emulated device had no memory left, as its error output says.
  bool is_ending_for_memory() const { return is_ending_for_memory_; }
  // Notes a rank that did not end well. The first counts, but one by SIGTERM only until another.
  void NoteRankDeath(const RankDeath& death);
  // Notes a rank whose parent collected it before its end was seen.
  void NoteRankGone(const RankDeath& death);
  bool has_rank_death() const { return death_.has_value(); }
  // Notes a rank that continues without us, or as another program: its later actions are not known.
  // The first counts.
  void NoteSessionLost(int rank, int pid, const std::string& how);
  bool has_lost_session() const { return !lost_.empty(); }
  // Of ranks that wait for one that has left: what follows may come of that. The first counts.
  void NoteWaitInVain(const std::string& reason);
  // Of a rank that ended and never said so.
  void NoteSilentEnd(int rank, int pid);
  // What the kernel did for lack of host memory since the command was started. The last counts.
  void NoteHostMemory(const launch::HostMemory& memory) { host_memory_ = memory; }

  // The command ended by itself, or a rank's death ends the job.
  Ending Judge(const std::optional<launch::ExitStatus>& command) const;

 private:
  std::string LastLines() const;
  bool WasTerminated() const;
  bool WasKilledForMemory(const std::optional<launch::ExitStatus>& command) const;
  std::string HostMemoryText() const;
  std::string Culprit(const std::optional<launch::ExitStatus>& command) const;

  std::optional<Refusal> refusal_;
  bool is_ending_for_memory_ = false;
  std::optional<RankDeath> death_;
  std::optional<RankDeath> gone_;  // The first, when nothing was known of a death before.
  std::string lost_;               // The rank whose session was lost, as a sentence.
  std::string silent_;             // Ranks that ended without a word.
  std::string wait_in_vain_;       // Why ranks do, as a sentence.
  std::string refused_call_;
  bool strict_ = false;
  launch::HostMemory host_memory_;
  bool tells_of_kill_ = false;  // The program's output does: it has lost a process of its own.
  std::deque<std::string> error_lines_;
  std::string advice_;     // What can be done about the environment.
  std::string exception_;  // The last line that names a Python exception of the program, and
  std::string own_line_;   // the innermost line of its traceback that is the user's: "train.py:40".
  std::string frame_;      // The same of a traceback that goes on.
};

// "3.50 GiB".
std::string BytesText(std::uint64_t bytes);

}  // namespace eidolon::agent::outcome
