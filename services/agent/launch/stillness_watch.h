// Determines whether processes work, by /proc: from what their threads did between two looks.
//
// Threads that poll (watchdogs, launchers, a thread that waits in slices) run now and then; that
// says nothing. A thread that works uses a processor, or waits for one, or for a disk, for a good
// part of the time. A thread that waits for another machine looks like one that waits for ever.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace eidolon::agent::launch {

enum class Stillness : std::uint8_t {
  kStill,    // No thread runs or wants to.
  kPolling,  // Some ran, or run now, but none for long.
  kStopped,  // Somebody stopped one (SIGSTOP, a debugger): what it would do, nobody knows.
  kWorking,
};

// This class is not thread-safe. A look takes milliseconds.
class StillnessWatch {
 public:
  // `proc`: where the process file system is.
  explicit StillnessWatch(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Looks at all threads of `processes` but the caller's. The main threads of those in `leaders`
  // talk to each other, in short turns: for them little is work already, and after any turn they
  // are not still. `now_ns` is monotonic and later than at the last look; the first look, and a
  // thread's first, finds it working when it runs.
  Stillness Look(const std::vector<pid_t>& processes, const std::set<pid_t>& leaders,
                 std::int64_t now_ns);
  // Returns whether the last look found that anything got on: a thread that works, bytes from or to
  // a disk.
  bool moved() const { return moved_; }

  // Looks at one thread alone, which the last look found at work in another process: whether it
  // works still. Then so would a look at all of them say, for a hundredth of its cost.
  bool WorksStill(std::int64_t now_ns);

 private:
  struct Sample {
    char state = '?';
    std::uint64_t ran_ns = 0;     // On a processor.
    std::uint64_t waited_ns = 0;  // For a processor.
    std::uint64_t slices = 0;
    std::int64_t at_ns = 0;  // When it was taken.
  };
  struct Worker {
    pid_t process = 0;
    pid_t thread = 0;
  };
  Stillness Judge(const Sample& now, const Sample* before, bool is_leader,
                  std::int64_t window_ns) const;
  bool HasUsedDisk(pid_t process);
  // Nothing when the thread is not there any more.
  std::optional<Sample> SampleOf(const std::filesystem::path& task, std::int64_t now_ns) const;

  std::string proc_;
  std::map<pid_t, Sample> last_;       // By thread.
  std::map<pid_t, std::string> disk_;  // What is told of each process's bytes.
  bool moved_ = false;
  std::optional<Worker> worker_;  // A thread that the last look found at work.
};

}  // namespace eidolon::agent::launch
