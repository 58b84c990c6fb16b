// Knows which processes of a server are ranks of the job, and which.
//
// A launcher tells its processes their ranks in the environment (RANK, LOCAL_RANK). Programs that
// start their ranks themselves (torch.multiprocessing.spawn) do not set it there, or let all of
// them inherit the same number. A rank shows its number when it enters the communicator of the
// whole job. Hence, strongest first:
//   1. A process that enters a communicator of as many members as the job has ranks has its rank
//      there (the lowest one, when it enters with several GPUs). It takes the rank from a process
//      that only claims it. Of two that entered with one rank, the first keeps it, unless it is
//      gone and ended no iteration.
//   2. A claim by the environment (on a server with one rank: of any process) gives the rank to the
//      first process that claims it. Another claimant that ends an iteration takes it, if that
//      first one has ended none and, when it named itself by RANK or LOCAL_RANK, has launched
//      nothing: launchers, whose children inherit the claim, do not work.
//   3. When the job is over and nobody named by 1 or by the environment is a rank, nor anybody who
//      worked, then those that worked (or else allocated memory) are: by their places in the
//      largest communicators that they entered, if these are all different; else by the GPUs that
//      they used first; else in the order in which they came.
// All other processes (launchers, data loaders, compilers) are not ranks. What a process reports
// before it is one waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace eidolon::agent::server {

// One server's book. Processes have the server's numbers. Not thread safe.
class RankRegistry {
 public:
  struct Place {
    std::int32_t first = 0;    // The server's first rank.
    std::int32_t count = 1;    // Its ranks.
    std::int32_t servers = 1;  // Of the job, with as many ranks each.
  };
  explicit RankRegistry(const Place& place) : place_(place) {}

  // Variables in a process's environment; -1: not set.
  struct Environment {
    std::int32_t rank = -1;
    std::int32_t local_rank = -1;
  };
  // A process came. True when it has a rank by its RANK: then it is one of those that the launcher
  // promised.
  bool Introduce(std::uint32_t process, const Environment& environment);
  // It launches its first work.
  void NoteWork(std::uint32_t process, std::uint32_t device);
  // It has allocated device memory.
  void NoteAllocation(std::uint32_t process);
  void NoteGone(std::uint32_t process);

  struct Entry {
    std::string communicator;  // Unique id.
    std::int32_t size = 0;
    std::int32_t rank = 0;
  };
  // It enters a communicator.
  void Enter(std::uint32_t process, const Entry& entry);
  // It has ended an iteration: the rank that may report it, if it is one by now.
  std::optional<std::int32_t> EndIteration(std::uint32_t process);
  // Processes that another one took a rank from, since the last call.
  std::vector<std::uint32_t> TakeDisplaced() { return std::exchange(displaced_, {}); }
  // The job is over.
  void Settle();

  // The rank that the process is.
  std::optional<std::int32_t> RankOf(std::uint32_t process) const;
  // The same, certain: by the world or by RANK.
  bool IsCertain(std::uint32_t process) const;
  bool has_ranks() const { return !holders_.empty(); }
  // The best name for messages about the process.
  std::int32_t NameOf(std::uint32_t process) const;
  bool IsWorld(std::int32_t size) const { return size == total(); }

 private:
  struct Process {
    std::optional<std::int32_t> claim;
    bool claims_by_environment = false;
    bool claims_by_rank = false;
    std::optional<std::int32_t> rank;
    std::optional<Entry> world;    // The first of the whole job.
    std::optional<Entry> largest;  // Of the others, the first of its size.
    std::optional<std::uint32_t> device;
    bool has_allocated = false;
    bool has_iterated = false;
    bool is_gone = false;
  };

  std::int32_t total() const { return place_.count * place_.servers; }
  void Give(std::int32_t rank, std::uint32_t process);
  void Drop(std::uint32_t process);
  const Process* HolderOf(std::int32_t rank) const;
  std::set<std::uint32_t> LeftOver() const;
  bool PlaceByCommunicator(const std::set<std::uint32_t>& left);
  void PlaceByDevice(const std::set<std::uint32_t>& left);

  Place place_;
  std::map<std::uint32_t, Process> processes_;
  std::map<std::int32_t, std::uint32_t> holders_;  // By rank.
  std::vector<std::uint32_t> displaced_;
};

}  // namespace eidolon::agent::server
