// Keeps the cost of work on this server's GPU model: one entry for each distinct definition, shared
// by all ranks, and the numbers by which reports refer to sources, families and names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/iteration/detector.h"
#include "services/agent/iteration/split.h"
#include "services/base/hash.h"
#include "services/contract/estimate/source.h"

namespace eidolon::common::v1 {
class Estimate;
enum EstimateSource : int;
}  // namespace eidolon::common::v1
namespace eidolon::timing::v1 {
class Replay;
}  // namespace eidolon::timing::v1

namespace eidolon::agent::cost {

// Readable description of a launch.
struct WorkShown {
  std::array<std::uint32_t, 3> grid{};  // Kernels.
  std::array<std::uint32_t, 3> block{};
  std::uint64_t bytes = 0;  // Copies and memsets.
  bool is_copy = false;     // These.
  auto operator<=>(const WorkShown&) const = default;
};

// One distinct definition.
struct CostEntry {
  bool known = false;
  bool tells_tokens = false;  // Once known: its basis counts lookups, or matrix operations.
  device::Work work;          // duration once known; tag: this entry's number.
  iteration::Update update = iteration::Update::kNo;
  std::uint32_t basis = 0;  // Once known.
  std::uint32_t name = 0;
  std::uint32_t kind = 0;  // Its name without sizes: the same for GEMMs of any shape.
  // The first entry of the same kernel, grid and block: whatever its other parameters. Of other
  // work, its own number.
  std::uint32_t alike = 0;
  WorkShown shown;
  // Once known: a hash of name, grid and duration. Equal on all servers for equal work, which the
  // number and parameters such as seeds and addresses are not.
  std::uint64_t likeness = 0;
};

// Main loop only.
class CostCache {
 public:
  // `permille`: what work takes, in thousandths of its estimates; another question than 1000 is one
  // of replays.
  explicit CostCache(std::uint32_t multiprocessors, std::uint32_t permille = 1000)
      : multiprocessors_(multiprocessors), permille_(permille) {}
  ~CostCache();

  // The entry of a definition, made and queued for a question when it is new. Requires:
  // workload::CheckDefinition passed.
  // `replay` is what followed it, read only for new kernels; wrong bytes are left out.
  std::uint32_t Intern(std::span<const std::byte> definition,
                       std::span<const std::byte> replay = {});
  const CostEntry& entry(std::uint32_t number) const { return entries_[number]; }
  std::size_t size() const { return entries_.size(); }

  // Entries whose cost was not asked for yet, at most `limit`; from now on they count as asked for.
  struct Question {
    std::uint32_t entry = 0;
    std::string definition;
    std::shared_ptr<timing::v1::Replay> replay;  // Null without one.
  };
  std::vector<Question> TakeQuestions(std::size_t limit);
  bool HasQuestions() const { return !questions_.empty(); }
  void Learn(std::uint32_t entry, const common::v1::Estimate& estimate);

  // The source that a service names. One that it leaves out, or that is not known here, is counted
  // and taken for assumed, the least that an estimate can be.
  estimate::Source KnownSource(common::v1::EstimateSource source);
  std::uint64_t unknown_sources() const { return unknown_sources_; }

  // Bases, for SplitWindow; names, for reports. Numbers stay valid.
  std::span<const iteration::Basis> bases() const { return bases_; }
  std::uint32_t InternBasis(estimate::Source source, float relative_error,
                            const std::string& family, std::uint32_t name,
                            const iteration::WorkCounts& counts = {});
  std::uint32_t InternName(const std::string& name);
  const std::string& name(std::uint32_t number) const { return *names_[number]; }

 private:
  device::Work WorkShape(std::span<const std::byte> definition) const;

  std::uint32_t multiprocessors_;
  std::uint32_t permille_;
  std::vector<CostEntry> entries_;
  std::map<base::Digest, std::uint32_t> by_digest_;
  // The first entries of kernels by name, grid and block.
  std::map<std::tuple<std::uint32_t, WorkShown>, std::uint32_t> first_alike_;
  std::vector<Question> questions_;
  std::vector<iteration::Basis> bases_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, iteration::WorkCounts>, std::uint32_t>
      basis_numbers_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
  std::vector<const std::string*> names_;
  std::uint64_t unknown_sources_ = 0;
};

}  // namespace eidolon::agent::cost
