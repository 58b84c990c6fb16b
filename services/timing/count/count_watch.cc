// Each step of a copy of the program runs Note, which counts and then calls the original handler.
// Guards are taken out of the copy and applied here, because an instruction that no lane executes
// is still issued. The handler gets the copy's step: handlers derive their own place from the
// step's address, and the copy is the program that runs. Handlers are plain functions, so the watch
// that counts is found through a variable of the thread.
//
// The interpreter runs warps in slices, one after another, which says nothing about time. So each
// warp has a clock of its own, which advances by what the compiler wrote into the words: clocks
// until the next instruction, scoreboards that it waits for, sets and frees. Warps meet in time
// only at barriers of their block, by the time of the last arrival.
#include "services/timing/count/count_watch.h"

#include <algorithm>
#include <bit>

#include "services/base/check.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lenient.h"
#include "services/machine_code/interpret/schedule.h"

namespace eidolon::timing::count {
namespace {

using interpret::Step;
using interpret::Warp;
using sass::Operation;

thread_local CountWatch* current = nullptr;

// Clocks until an instruction has read its operands.
constexpr double kReadLatency = 12;

constexpr auto kStepsOfLine = static_cast<std::size_t>(machine::kLineBytes) / sass::kWordBytes;

}  // namespace

CountWatch::CountWatch(const interpret::Program& program, double cached_bytes_of_block,
                       double shared_bytes_of_block)
    : program_(program),
      shared_bytes_(shared_bytes_of_block),
      watched_(program),
      fixed_(program.steps.size()),
      accesses_(cached_bytes_of_block),
      has_line_(program.steps.size() / kStepsOfLine + 1) {
  CHECK(current == nullptr);
  for (std::size_t i = 0; i < fixed_.size(); ++i) {
    // Steps whose guard holds for no lane are left out before any handler sees them.
    Step& step = watched_.steps[i];
    step.run = Note;
    step.guard = sass::kTruePredicate;
    step.guard_negated = false;
    const Step& original = program.steps[i];
    Fixed& fixed = fixed_[i];
    fixed.pipe = PipeOf(original);
    fixed.passed_over = interpret::IsPassedOver(original) && fixed.pipe == Pipe::kOther;
    fixed.accesses = original.form != nullptr && AccessesMemory(original.operation);
    fixed.matrix_descriptor = MatrixDescriptorRow(original);
    fixed.ends_matrix_group = EndsMatrixGroup(original);
    fixed.matrix_groups_left = MatrixGroupsLeft(original);
    fixed.announces_bytes = AnnouncesBytes(original);
    fixed.matrix_operations = MatrixOperations(original, &fixed.matrix_type);
    fixed.lane_operations = LaneOperations(original);
    const sass::Word& word = original.word;
    fixed.stall = static_cast<std::uint8_t>(std::max<std::uint64_t>(1, word.Bits(105, 4)));
    fixed.sets = static_cast<std::uint8_t>(word.Bits(110, 3));
    fixed.reads = static_cast<std::uint8_t>(word.Bits(113, 3));
    fixed.waits = static_cast<std::uint8_t>(word.Bits(116, 6));
  }
  current = this;
}

CountWatch::~CountWatch() { current = nullptr; }

void CountWatch::BeginBlock(std::map<RegionUse, RegionTouched>* regions, SectorSet* together) {
  accesses_.Begin(regions, together);
  counts_ = {};
  clocks_.clear();
  for (std::vector<double>& times : barriers_) times.clear();
}

BlockCounts CountWatch::EndBlock() {
  const WarpClock* longest = nullptr;
  for (const WarpClock& clock : clocks_) {
    counts_.first_sectors += clock.first_sectors;
    if (clock.has_matrices) ++counts_.matrix_warps;
    if (longest == nullptr || clock.now > longest->now) longest = &clock;
  }
  if (longest != nullptr) {
    counts_.clocks = longest->now;
    counts_.far_clocks = longest->far;
    counts_.code_lines = longest->code_lines;
  }
  instructions_ += counts_.instructions();
  return counts_;
}

double CountWatch::PassedOver() const {
  return instructions_ > 0 ? passed_over_ / instructions_ : 0;
}

double CountWatch::CodeLines() const {
  return static_cast<double>(std::ranges::count(has_line_, true));
}

void CountWatch::ExecuteLine(WarpClock& clock, std::size_t step) {
  const std::size_t line = step / kStepsOfLine;
  if (line == clock.line) return;
  clock.line = line;
  if (clock.has_line.empty()) clock.has_line.resize(has_line_.size());
  if (clock.has_line[line]) return;
  clock.has_line[line] = true;
  has_line_[line] = true;
  ++clock.code_lines;
}

void CountWatch::Await(WarpClock& clock, double until, bool far) {
  if (until <= clock.now) return;
  if (far) clock.far += until - clock.now;
  clock.now = until;
}

// Warps that went on may have come to the next barrier before others have left this one.
void CountWatch::Arrive(WarpClock& clock, std::uint32_t barrier, bool waits) {
  std::vector<double>& times = barriers_[barrier];
  const std::size_t time = clock.arrivals[barrier]++;
  if (times.size() <= time) times.resize(time + 1);
  times[time] = std::max(times[time], clock.now);
  if (waits) clock.waits_at = barrier;
}

// Advances the warp's clock by a step that was issued: by what the step itself waits for and by the
// compiler's stall. Its scoreboards stay held until the result is there, or the operands are read.
void CountWatch::Schedule(WarpClock& clock, const Fixed& fixed, const Step& step, double latency) {
  const bool far = latency >= machine::kDeviceMemoryLatency;
  if (step.operation == Operation::kLdgsts) {
    clock.copies_end = std::max(clock.copies_end, clock.now + latency);
  } else if (step.operation == Operation::kLdgdepbar) {
    clock.groups.push_back(clock.copies_end);
  } else if (step.operation == Operation::kDepbar) {
    // Waits until no more than so many groups are under way.
    const std::size_t left = step.word.Bits(38, 6);
    while (clock.groups.size() > left) {
      Await(clock, clock.groups.front(), true);
      clock.groups.pop_front();
    }
  }
  if (fixed.matrix_operations > 0 && step.form != nullptr) {
    // A warp's next matrix instruction waits until its quarter's tensor core takes it.
    Await(clock, clock.matrices_end, false);
    clock.matrices_end = clock.now + fixed.matrix_operations / (machine::kWarpMatrixShare *
                                                                machine::kMatrixOperationsPerClock);
  } else if (fixed.matrix_operations > 0) {
    const double begin = std::max(clock.now, clock.matrices_end);
    clock.matrices_end = begin + fixed.matrix_operations / machine::kMatrixOperationsPerClock;
    if (fixed.ends_matrix_group) clock.matrix_groups.push_back(clock.matrices_end);
  }
  if (fixed.matrix_groups_left) {
    while (clock.matrix_groups.size() > *fixed.matrix_groups_left) {
      Await(clock, clock.matrix_groups.front(), false);
      clock.matrix_groups.pop_front();
    }
  }
  if (fixed.sets < kScoreboards) {
    double& free_at = clock.free_at[fixed.sets];
    if (clock.now + latency > free_at) {
      free_at = clock.now + latency;
      clock.is_far[fixed.sets] = far;
    }
  }
  if (fixed.reads < kScoreboards) {
    double& free_at = clock.free_at[fixed.reads];
    free_at = std::max(free_at, clock.now + kReadLatency);
  }
  clock.now += fixed.stall;
}

void CountWatch::Issue(Warp& warp, std::size_t number, std::uint32_t lanes) {
  const Fixed& fixed = fixed_[number];
  const Step& step = program_.steps[number];
  const std::size_t index = warp.first_thread / interpret::kLanes;
  if (clocks_.size() <= index) clocks_.resize(index + 1);
  WarpClock& clock = clocks_[index];
  if (clock.waits_at < interpret::kBarriers) {
    // All who were waited for have come.
    const std::size_t time = clock.arrivals[clock.waits_at] - 1;
    Await(clock, barriers_[clock.waits_at][time] + machine::kBarrierLatency, false);
    clock.waits_at = ~0u;
  }
  for (unsigned i = 0; i < kScoreboards; ++i) {
    if ((fixed.waits >> i & 1) != 0) Await(clock, clock.free_at[i], clock.is_far[i]);
  }
  ExecuteLine(clock, number);
  ++counts_.issued[static_cast<std::size_t>(fixed.pipe)];
  if (fixed.passed_over) ++passed_over_;
  double latency = machine::kArithmeticLatency;
  if (lanes != 0) {
    counts_.lane_operations += fixed.lane_operations * std::popcount(lanes);
    const double before = counts_.missed_sectors;
    if (fixed.accesses) latency = accesses_.Count(warp, step, lanes, counts_);
    if (clock.far == 0) clock.first_sectors += counts_.missed_sectors - before;
    if (fixed.announces_bytes) CountEngineCopy(warp, clock, step, lanes);
    CountMatrices(warp, clock, fixed, step);
    if (step.operation == Operation::kBar) {
      ++counts_.barriers;
      Arrive(clock, interpret::BarrierOf(warp, step.word, lanes), step.word.Bits(77, 3) != 1);
    }
  }
  Schedule(clock, fixed, step, latency);
}

void CountWatch::CountMatrices(Warp& warp, WarpClock& clock, const Fixed& fixed, const Step& step) {
  double operations = fixed.matrix_operations;
  MatrixType type = fixed.matrix_type;
  if (fixed.matrix_descriptor && *fixed.matrix_descriptor < sass::kZeroUniform) {
    operations = DescribedOperations(step, warp.uniform[*fixed.matrix_descriptor], &type);
  }
  if (operations == 0) return;
  clock.has_matrices = true;
  counts_.matrix_operations[static_cast<std::size_t>(type)] += operations;
  if (step.form == nullptr) counts_.group_matrix_operations += operations;
}

// What the engine brings fills the block's shared memory first, and then what its warps have used.
void CountWatch::CountEngineCopy(Warp& warp, WarpClock& clock, const Step& step,
                                 std::uint32_t lanes) {
  constexpr std::uint32_t kBarrierBytes = 1 << 20;  // More than the barrier's count holds.
  const std::uint32_t* row = warp.Row(interpret::SourceRow(step.word.Bits(32, 8)));
  for (unsigned lane = 0; lane < interpret::kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0 || row[lane] >= kBarrierBytes) continue;
    const double empty = std::max(0.0, shared_bytes_ - counts_.engine_bytes);
    clock.first_sectors += std::min<double>(row[lane], empty) / machine::kSectorBytes;
    counts_.engine_bytes += row[lane];
    counts_.missed_sectors += row[lane] / machine::kSectorBytes;
  }
}

void CountWatch::Note(Warp& warp, const Step& step, std::uint32_t mask) {
  const auto number = static_cast<std::size_t>(&step - current->watched_.steps.data());
  const Step& original = current->program_.steps[number];
  const std::uint32_t guard =
      original.uniform ? warp.uniform_predicate[original.guard] : warp.predicate[original.guard];
  const std::uint32_t lanes = mask & (original.guard_negated ? ~guard : guard);
  constexpr std::uint64_t kArrives = 1;
  const bool arrives =
      lanes != 0 && original.operation == Operation::kBar && original.word.Bits(77, 3) == kArrives;
  const bool comes_again =
      arrives && interpret::IsAhead(warp, interpret::BarrierOf(warp, original.word, lanes));
  if (!comes_again) current->Issue(warp, number, lanes);
  if (lanes == 0) {
    if (original.control) ++warp.group().at;
    return;
  }
  // Its numbers decide nothing.
  if (original.operation == Operation::kHmma) return;
  original.run(warp, step, lanes);
}

}  // namespace eidolon::timing::count
