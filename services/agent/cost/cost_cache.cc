// A program launches the same work millions of times, so each distinct definition is looked up and
// asked for once. A 128-bit digest stands for its bytes, which leave with the question and are not
// kept. What follows from a definition alone (its share of the GPU, its name) is there from the
// first launch; the duration comes with Learn, and a record that needs it waits. Numbers of
// entries, bases and names are positions in vectors that only grow, so operations, reports and
// timelines may keep them.
#include "services/agent/cost/cost_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/cost/replay_message.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/estimate/wire/source_message.h"
#include "services/contract/workload/definition.h"

namespace eidolon::agent::cost {

namespace {

// The smallest output tile of a block, and the shortest part of k that a block adds up: a library
// makes tiles smaller and splits k until a GEMM has a block for each multiprocessor. Of 537 GEMMs
// on an H100 (e2e/measured/h100/gemms.jsonl.gz) the share of multiprocessors that has a block is
// right to 2 % in the mean by these, to 6 % where there are fewer tiles of 128 x 128 than
// multiprocessors; by tiles of 128 x 128 alone to 11 and 41 %.
constexpr std::uint64_t kGemmTileRows = 64;
constexpr std::uint64_t kGemmTileColumns = 48;
constexpr std::uint64_t kGemmSplit = 2048;
constexpr std::uint32_t kPermille = 1000;

std::uint32_t ShareOf(std::uint64_t blocks, std::uint64_t blocks_at_once) {
  if (blocks_at_once == 0 || blocks >= blocks_at_once) return device::kWholeShare;
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, blocks * device::kWholeShare / blocks_at_once));
}

// Rows and columns may be either way round.
std::uint64_t GemmBlocks(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  const auto parts = [](std::uint64_t size, std::uint64_t part) {
    return (size + part - 1) / part;
  };
  const std::uint64_t tiles = std::max(parts(m, kGemmTileRows) * parts(n, kGemmTileColumns),
                                       parts(n, kGemmTileRows) * parts(m, kGemmTileColumns));
  return tiles * std::max<std::uint64_t>(1, k / kGemmSplit);
}

device::Resource ResourceOf(workload::CopyKind kind) {
  switch (kind) {
    case workload::CopyKind::kHostToDevice:
      return device::Resource::kCopyIn;
    case workload::CopyKind::kDeviceToHost:
      return device::Resource::kCopyOut;
    case workload::CopyKind::kPeer:
      return device::Resource::kCopyPeer;
    default:
      return device::Resource::kNone;
  }
}

// A copy within the device, and a memset, take no multiprocessor to speak of.
void ShareMemory(float share, device::Work* work) {
  const double bounded = share > 0 ? std::min<double>(share, 1) : 0;
  work->memory = static_cast<std::uint32_t>(bounded * device::kWholeShare);
  if (work->memory == 0 || work->resource != device::Resource::kNone) return;
  work->resource = device::Resource::kMultiprocessors;
  work->share = 1;
}

WorkShown ShownOf(std::span<const std::byte> definition) {
  WorkShown shown;
  switch (workload::KindOf(definition)) {
    case workload::WorkKind::kKernel: {
      const auto kernel = workload::WorkOf<workload::Kernel>(definition);
      shown.grid = {kernel.grid.x, kernel.grid.y, kernel.grid.z};
      shown.block = {kernel.block.x, kernel.block.y, kernel.block.z};
      break;
    }
    case workload::WorkKind::kCopy:
    case workload::WorkKind::kMemset:
      shown.bytes = workload::WorkOf<workload::Copy>(definition).bytes;
      shown.is_copy = true;
      break;
    default:
      break;
  }
  return shown;
}

iteration::WorkCounts CountsOf(const common::v1::WorkCounts& counts) {
  return {.matrix_flops = counts.matrix_flops(),
          .parameter_bytes = counts.parameter_bytes(),
          .gradient_bytes = counts.gradient_bytes(),
          .optimizer_state_bytes = counts.optimizer_state_bytes(),
          .lookups = {.indices = counts.lookups().indices(),
                      .table_rows = counts.lookups().table_rows(),
                      .row_bytes = counts.lookups().row_bytes()},
          .gemm = {.rows = counts.gemm().rows(),
                   .outputs = counts.gemm().outputs(),
                   .inputs = counts.gemm().inputs()}};
}

std::uint64_t LikenessOf(const CostEntry& entry, const std::string& name) {
  std::array<std::uint64_t, 5> words = {
      base::Hash64(name.data(), name.size()), entry.shown.bytes,
      static_cast<std::uint64_t>(entry.work.duration.ps),
      std::uint64_t{entry.shown.grid[0]} << 32 | entry.shown.grid[1],
      std::uint64_t{entry.shown.grid[2]} << 32 | entry.shown.block[0]};
  return base::Hash64(words.data(), sizeof(words));
}

}  // namespace

CostCache::~CostCache() = default;

device::Work CostCache::WorkShape(std::span<const std::byte> definition) const {
  device::Work work;
  switch (workload::KindOf(definition)) {
    case workload::WorkKind::kKernel: {
      const auto kernel = workload::WorkOf<workload::Kernel>(definition);
      const std::uint64_t blocks = std::uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
      work.share =
          ShareOf(blocks, std::uint64_t{kernel.blocks_per_multiprocessor} * multiprocessors_);
      break;
    }
    case workload::WorkKind::kGemm: {
      const auto gemm = workload::WorkOf<workload::Gemm>(definition);
      work.share =
          ShareOf(GemmBlocks(gemm.m, gemm.n, gemm.k) * std::max<std::uint64_t>(gemm.batch, 1),
                  multiprocessors_);
      work.is_gemm = true;
      break;
    }
    case workload::WorkKind::kCopy:
    case workload::WorkKind::kMemset:
      work.resource = ResourceOf(workload::WorkOf<workload::Copy>(definition).kind);
      break;
    default:
      break;
  }
  return work;
}

std::uint32_t CostCache::Intern(std::span<const std::byte> definition,
                                std::span<const std::byte> replay) {
  const base::Digest digest = base::Hash128(definition.data(), definition.size());
  const auto [found, is_new] =
      by_digest_.emplace(digest, static_cast<std::uint32_t>(entries_.size()));
  if (!is_new) return found->second;
  const std::uint32_t number = found->second;
  const std::string name = workload::DisplayName(definition);
  CostEntry entry;
  entry.work = WorkShape(definition);
  entry.work.tag = number;
  entry.name = InternName(name);
  entry.shown = ShownOf(definition);
  const bool names_sizes = workload::KindOf(definition) == workload::WorkKind::kGemm;
  entry.kind = names_sizes ? InternName("gemm") : entry.name;
  entry.alike = number;
  if (workload::KindOf(definition) == workload::WorkKind::kKernel) {
    entry.update = iteration::UpdateOf(name);
    entry.alike = first_alike_.emplace(std::tuple(entry.name, entry.shown), number).first->second;
  }
  entries_.push_back(entry);
  std::shared_ptr<timing::v1::Replay> again;
  if (!replay.empty() && workload::KindOf(definition) == workload::WorkKind::kKernel) {
    again = std::make_shared<timing::v1::Replay>();
    if (!FillReplay(replay, again.get())) again.reset();
  }
  questions_.push_back(
      {.entry = number,
       .definition = {reinterpret_cast<const char*>(definition.data()), definition.size()},
       .replay = std::move(again)});
  return number;
}

std::vector<CostCache::Question> CostCache::TakeQuestions(std::size_t limit) {
  if (questions_.size() <= limit) return std::exchange(questions_, {});
  std::vector<Question> taken;
  const auto end = questions_.begin() + static_cast<std::ptrdiff_t>(limit);
  std::move(questions_.begin(), end, std::back_inserter(taken));
  questions_.erase(questions_.begin(), end);
  return taken;
}

void CostCache::Learn(std::uint32_t number, const common::v1::Estimate& estimate) {
  CostEntry& entry = entries_[number];
  constexpr auto kLongest = static_cast<std::uint64_t>(base::SimTime::Max().ps);
  std::uint64_t picoseconds = std::min(estimate.duration_picoseconds(), kLongest);
  if (permille_ != kPermille) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide scaled = static_cast<Wide>(picoseconds) * permille_ / kPermille;
    picoseconds = static_cast<std::uint64_t>(std::min<Wide>(scaled, kLongest));
  }
  entry.work.duration.ps = static_cast<std::int64_t>(picoseconds);
  const double share = std::clamp(static_cast<double>(estimate.clock_share()), 0.0, 1.0);
  entry.work.draw = {.milliwatts = estimate.power_milliwatts(),
                     .memory_milliwatts =
                         std::min(estimate.memory_power_milliwatts(), estimate.power_milliwatts()),
                     .clock_share = static_cast<std::uint32_t>(share * device::kWholeShare)};
  const iteration::WorkCounts counts = CountsOf(estimate.counts());
  // Kernels whose time is that of tensor cores; the others are bound by memory (gpu_variation.h).
  entry.work.clock_bound = counts.matrix_flops > 0;
  ShareMemory(estimate.memory_share(), &entry.work);
  entry.tells_tokens = counts.lookups.indices > 0 || counts.matrix_flops > 0;
  entry.basis = InternBasis(KnownSource(estimate.source()), estimate.relative_error(),
                            estimate.family(), entry.name, counts);
  entry.likeness = LikenessOf(entry, name(entry.name));
  entry.known = true;
}

estimate::Source CostCache::KnownSource(common::v1::EstimateSource source) {
  const auto known = estimate::wire::FromMessage(source);
  if (known.has_value()) return *known;
  if (unknown_sources_++ == 0) {
    base::Log(base::Level::kWarning, "unknown_estimate_source",
              {{"source", base::StrCat(static_cast<int>(source))}});
  }
  return estimate::Source::kAssumed;
}

std::uint32_t CostCache::InternName(const std::string& name) {
  const auto [found, is_new] =
      name_numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(&found->first);
  return found->second;
}

std::uint32_t CostCache::InternBasis(estimate::Source source, float relative_error,
                                     const std::string& family, std::uint32_t name,
                                     const iteration::WorkCounts& counts) {
  const iteration::Basis basis{.source = source,
                               .relative_error = relative_error,
                               .family = InternName(family),
                               .name = name,
                               .counts = counts};
  std::uint32_t error_bits;
  std::memcpy(&error_bits, &relative_error, sizeof(error_bits));
  const auto key = std::tuple(std::uint64_t{error_bits} << 8 | static_cast<std::uint64_t>(source),
                              std::uint64_t{basis.family} << 32 | name, counts);
  const auto [found, is_new] =
      basis_numbers_.emplace(key, static_cast<std::uint32_t>(bases_.size()));
  if (is_new) bases_.push_back(basis);
  return found->second;
}

}  // namespace eidolon::agent::cost
