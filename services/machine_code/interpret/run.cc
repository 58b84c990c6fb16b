// Kernels run here for the numbers that they compute, or to be counted; most are small. So starting
// a launch has to be cheap. Blocks run one after another in memory that is used again, registers
// are cleared only as far as the compiler gave them out, and warps that are known to have nothing
// to do are accounted for and not run. None of it may change a result or the number of steps, which
// limits refer to. Warps take turns of a bounded number of steps, since one may wait in a loop for
// what another writes; where no group of any warp can move, the launch has come to a deadlock. All
// is single-threaded and deterministic.
#include "services/machine_code/interpret/run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "services/machine_code/interpret/layout.h"
#include "services/machine_code/interpret/schedule.h"
#include "services/machine_code/interpret/unknown_steps.h"

namespace eidolon::interpret {
namespace {

// Steps that a warp runs before the next one has its turn.
constexpr std::uint32_t kSliceSteps = 2048;
// Stack that functions that a kernel calls may need beyond its own frame.
constexpr std::uint32_t kStackReserve = 1024;

// Unit in which shared memory is allocated (CUDA's occupancy calculator, 7.0 and later).
constexpr std::uint32_t kSharedUnit = 128;

std::uint32_t RoundUp(std::uint32_t bytes) {
  return (bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
}

std::uint64_t WarpsOf(const Dims& block) { return (block.volume() + kLanes - 1) / kLanes; }

void SetBank0(LaunchState& state, const Program& program, const Launch& launch) {
  const Layout layout = LayoutOf(program.dialect);
  const std::size_t bytes = program.parameter_base + launch.parameters.size() + 16;
  state.bank0.assign(std::max<std::size_t>(bytes, layout.parameters), std::byte{});
  const auto put = [&](std::size_t at, const void* from, std::size_t size) {
    std::memcpy(state.bank0.data() + at, from, size);
  };
  put(layout.block, &launch.block, 12);
  put(layout.grid, &launch.grid, 12);
  if (layout.shared_window != kNoPlace) put(layout.shared_window, &kSharedWindow, 8);
  put(layout.local_window, &kLocalWindow, 8);
  put(layout.stack, &state.stack_bytes, 4);
  if (layout.dynamic_shared != kNoPlace) {
    put(layout.dynamic_shared, &launch.dynamic_shared_bytes, 4);
  }
  if (!launch.parameters.empty()) {
    put(program.parameter_base, launch.parameters.data(), launch.parameters.size());
  }
}

// `idle`: a bit for each warp that shall not run.
void StartBlock(Block& block, LaunchState& state, std::uint64_t index, std::uint64_t idle) {
  block.launch = &state;
  block.index = {static_cast<std::uint32_t>(index % state.grid.x),
                 static_cast<std::uint32_t>(index / state.grid.x % state.grid.y),
                 static_cast<std::uint32_t>(index / (std::uint64_t{state.grid.x} * state.grid.y))};
  const auto threads = static_cast<std::uint32_t>(state.block.volume());
  const auto warps = static_cast<std::uint32_t>(WarpsOf(state.block));
  block.warps.resize(warps);
  block.rows.resize(std::max(block.rows.size(), std::size_t{warps} * kRegisterRows * kLanes));
  block.shared.resize(state.first_shared + state.shared_bytes);
  if (state.shared_bytes != 0) std::ranges::fill(block.shared, std::byte{});
  // What the compiler gave out; others are read by no compiler's code.
  const unsigned registers = state.program->registers;
  const std::size_t cleared =
      registers == 0 ? kRegisterRows : std::min(kFirstRow + registers, kRegisterRows);
  block.local.assign(std::size_t{state.local_bytes} * warps * kLanes, std::byte{});
  block.barriers = {};
  block.live_threads = 0;
  for (std::uint32_t i = 0; i < warps; ++i) {
    Warp& warp = block.warps[i];
    if (i < IdleWarps::kMostWarps && (idle >> i & 1) != 0) {
      warp.live = 0;
      warp.groups.clear();
      continue;
    }
    warp.Clear(state.program->convergence_barriers);
    warp.block = &block;
    warp.launch = &state;
    warp.rows = block.rows.data() + std::size_t{i} * kRegisterRows * kLanes;
    std::fill_n(warp.Row(kZeroRow), cleared * kLanes, 0u);
    warp.predicate[sass::kTruePredicate] = ~0u;
    warp.uniform_predicate[sass::kTruePredicate] = ~0u;
    warp.first_thread = i * kLanes;
    const std::uint32_t lanes = std::min(kLanes, threads - i * kLanes);
    warp.live = lanes == kLanes ? ~0u : (1u << lanes) - 1;
    block.live_threads += lanes;
    warp.groups.push_back({.lanes = warp.live, .at = 0});
  }
  if (state.tracks_unknown) StartUnknowns(block);
}

// Rejects what no GPU does, or what would cost too much memory here.
bool IsPossible(const Program& program, const Launch& launch) {
  constexpr std::uint64_t kMostBlockThreads = 1024;
  constexpr std::uint64_t kMostShared = 256 << 10;
  constexpr std::uint64_t kMostLocal = 64 << 10;  // A thread's.
  constexpr std::size_t kMostParameters = 64 << 10;
  const auto none = [](const Dims& dims) { return dims.x == 0 || dims.y == 0 || dims.z == 0; };
  const Dims& block = launch.block;
  const bool wide = block.x > kMostBlockThreads || block.y > kMostBlockThreads ||
                    block.z > kMostBlockThreads || block.volume() > kMostBlockThreads;
  // As CUDA bounds them; their product fits into 64 bits then.
  const bool far = launch.grid.x > 0x7fffffff || launch.grid.y > 0xffff || launch.grid.z > 0xffff;
  const std::uint64_t shared =
      std::uint64_t{program.static_shared_bytes} + launch.dynamic_shared_bytes;
  return !none(launch.grid) && !none(block) && !wide && !far && shared <= kMostShared &&
         program.local_bytes <= kMostLocal && launch.parameters.size() <= kMostParameters;
}

// In line: for machines that may lack the instruction std::popcount takes a call.
std::uint32_t CountBits(std::uint32_t bits) {
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

// Runs a step that is not one of control for the lanes of the mask, or asks whether one of control
// may run. `perhaps`: lanes of the mask whose guard is unknown.
template <bool kTracks>
bool RunOrAdmit(Warp& warp, const Step& step, std::uint32_t mask, std::uint32_t perhaps) {
  if constexpr (kTracks) {
    const Lineup lanes{.certain = mask & ~perhaps, .perhaps = perhaps};
    if (step.control) return AdmitControl(warp, step, lanes);
    RunTracked(warp, step, lanes);
  } else if (!step.control) {
    step.run(warp, step, mask);
  }
  return true;
}

// Runs the warp until it cannot go on or its turn is over. True when it did anything. Compiled
// twice, so that launches which know all that they read do not pay for those that do not.
template <bool kTracks>
bool RunWarp(Warp& warp) {
  LaunchState& state = *warp.launch;
  const Step* const steps = state.program->steps.data();
  const std::size_t count = state.program->steps.size();
  std::uint32_t done = 0;
  while (done < kSliceSteps && state.stop == Stop::kNone && Choose(warp)) {
    const std::uint32_t meeting = NextMeeting(warp);
    Group* group = &warp.group();
    std::uint64_t lane_steps = 0;
    while (true) {
      if (group->at >= count) {
        state.End(Stop::kFault, std::uint64_t{group->at} * sass::kWordBytes);
        break;
      }
      const Step& step = steps[group->at];
      const std::uint32_t guard =
          step.uniform ? warp.uniform_predicate[step.guard] : warp.predicate[step.guard];
      std::uint32_t mask = group->lanes & (step.guard_negated ? ~guard : guard);
      std::uint32_t perhaps = 0;
      if constexpr (kTracks) {
        perhaps = group->lanes & UnknownGuard(warp, step);
        mask |= perhaps;
      }
      lane_steps += mask == ~0u ? kLanes : mask == 0 ? 0 : CountBits(mask);
      ++done;
      if (mask == 0) {
        ++group->at;
      } else if (!RunOrAdmit<kTracks>(warp, step, mask, perhaps)) {
        break;
      } else if (!step.control) {
        ++group->at;
      } else {
        const std::size_t groups = warp.groups.size();
        step.run(warp, step, mask);
        // Plain jumps keep the group; all else is sorted out by Choose.
        if (warp.groups.size() != groups || groups == 0) break;
        group = &warp.group();
        if (group->wait != Wait::kRunnable || groups != 1) break;
      }
      if (group->at >= meeting || done >= kSliceSteps || state.stop != Stop::kNone) break;
    }
    state.lane_steps += lane_steps;
  }
  if (done > state.steps_left) {
    state.End(Stop::kLimit);
  } else {
    state.steps_left -= done;
  }
  return done != 0;
}

// Runs blocks that were started until all of them have ended.
template <bool kTracks>
void RunBlocks(std::span<const std::unique_ptr<Block>> blocks, LaunchState& state) {
  bool live = true;
  while (live && state.stop == Stop::kNone) {
    live = false;
    bool moved = false;
    for (const auto& block : blocks) {
      for (Warp& warp : block->warps) {
        if (warp.live == 0) continue;
        moved = RunWarp<kTracks>(warp) || moved;
        live = live || warp.live != 0;
      }
    }
    if (live && !moved) state.End(Stop::kDeadlock);
  }
}

// Finds out which warps of a launch are idle: those that end in their first turn without having
// touched memory.
class Learner {
 public:
  Learner(LaunchState& state, std::size_t words)
      : state_(state), all_words_(state.words_read), words_(words), idle_words_(words) {}

  // The first turns of the block's warps, the first of which has this number.
  void Begin(Block& block, std::uint64_t first_warp) {
    for (std::size_t i = 0; i < block.warps.size() && state_.stop == Stop::kNone; ++i) {
      Warp& warp = block.warps[i];
      const std::uint64_t steps = state_.steps_left;
      const std::uint64_t lane_steps = state_.lane_steps;
      std::ranges::fill(words_, std::uint8_t{0});
      state_.words_read = words_.data();
      RunWarp<false>(warp);
      state_.words_read = all_words_;
      if (all_words_ != nullptr) Unite(words_, all_words_);
      if (warp.live != 0 || warp.touched_memory || state_.stop != Stop::kNone) continue;
      Unite(words_, idle_words_.data());
      memo_.warps |= std::uint64_t{1} << (first_warp + i);
      memo_.warp_steps += steps - state_.steps_left;
      memo_.lane_steps += state_.lane_steps - lane_steps;
    }
  }

  // Returns the memo of a launch with these parameters.
  IdleMemo Memo(std::span<const std::byte> parameters) && {
    for (std::uint32_t i = 0; i < idle_words_.size(); ++i) {
      if (idle_words_[i] != 0) memo_.words.push_back({i, ParameterWord(parameters, i)});
    }
    memo_.parameter_bytes = parameters.size();
    return std::move(memo_);
  }

 private:
  static void Unite(const std::vector<std::uint8_t>& from, std::uint8_t* to) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] |= from[i];
  }

  LaunchState& state_;
  std::uint8_t* const all_words_;
  std::vector<std::uint8_t> words_;  // Read by one warp.
  std::vector<std::uint8_t> idle_words_;
  IdleMemo memo_;
};

// Accounts for the idle warps as if they had run.
void Account(const IdleMemo& memo, LaunchState& state) {
  state.lane_steps += memo.lane_steps;
  if (memo.warp_steps > state.steps_left) state.End(Stop::kLimit);
  state.steps_left -= std::min(state.steps_left, memo.warp_steps);
  for (const IdleMemo::Word& word : memo.words) {
    if (state.words_read != nullptr) state.words_read[word.number] = 1;
  }
}

// True when warps of the launch may be known to be idle.
bool MayBeIdle(const Program& program, const Launch& launch) {
  return launch.idle != nullptr && !launch.tracks_unknown && program.warps_are_apart &&
         !launch.cooperative && launch.blocks.empty() &&
         launch.grid.volume() <= IdleWarps::kMostWarps &&
         launch.grid.volume() * WarpsOf(launch.block) <= IdleWarps::kMostWarps;
}

// True when the first blocks took so many steps that all will take too many: eight are believed,
// and fewer if they took as much as eight may.
bool IsHopeless(const Limits& limits, std::uint64_t steps, std::uint64_t done,
                std::uint64_t count) {
  constexpr std::uint64_t kSampled = 8;
  return limits.foretold_warp_steps != 0 && done <= kSampled &&
         steps > limits.foretold_warp_steps / count * kSampled;
}

}  // namespace

Workspace::Workspace() = default;
Workspace::~Workspace() = default;

std::span<const std::unique_ptr<Block>> Workspace::Take(std::size_t count) {
  // A cooperative launch's blocks are not kept for good.
  constexpr std::size_t kKept = 4;
  if (blocks_.size() > std::max(count, kKept)) blocks_.resize(std::max(count, kKept));
  while (blocks_.size() < count) blocks_.push_back(std::make_unique<Block>());
  return std::span(blocks_).first(count);
}

Outcome Run(const Program& program, const Launch& launch, Memory& memory, const Limits& limits) {
  Workspace workspace;
  return Run(program, launch, memory, limits, workspace);
}

Outcome Run(const Program& program, const Launch& launch, Memory& memory, const Limits& limits,
            Workspace& workspace) {
  if (!IsPossible(program, launch)) return {.stop = Stop::kLimit};
  LaunchState state;
  state.program = &program;
  state.memory = &memory;
  state.grid = launch.grid;
  state.block = launch.block;
  state.first_shared = LayoutOf(program.dialect).first_shared;
  state.shared_begin = launch.reaches_system_words ? 0 : state.first_shared;
  // Blocks get whole units; compilers know, and load words of which a part lies behind the end.
  state.shared_bytes = RoundUp(program.static_shared_bytes + launch.dynamic_shared_bytes);
  state.stack_bytes =
      program.uses_local ? (program.local_bytes + kStackReserve + 15) / 16 * 16 : 16;
  state.local_bytes = program.uses_local ? state.stack_bytes : 0;
  state.steps_left = limits.warp_steps;
  SetBank0(state, program, launch);
  state.parameter_base = program.parameter_base;
  const std::size_t words = (state.bank0.size() - program.parameter_base + 3) / 4;
  if (launch.words_read != nullptr) {
    launch.words_read->assign(words, 0);
    state.words_read = launch.words_read->data();
  }

  if (launch.tracks_unknown) {
    state.tracks_unknown = true;
    state.effects.reserve(program.steps.size());
    for (const Step& step : program.steps) state.effects.push_back(EffectOf(step));
  }

  const bool chosen = !launch.blocks.empty();
  const std::uint64_t count = chosen ? launch.blocks.size() : launch.grid.volume();
  // A cooperative launch's blocks are all there at once.
  constexpr std::uint64_t kMostTogether = 256;
  if (launch.cooperative && count > kMostTogether) return {.stop = Stop::kLimit};
  const std::uint64_t together = launch.cooperative ? count : 1;
  const auto blocks = workspace.Take(together);
  const IdleMemo* idle = nullptr;
  std::optional<Learner> learner;
  if (MayBeIdle(program, launch)) {
    idle = launch.idle->Find(launch.parameters);
    if (idle != nullptr) {
      Account(*idle, state);
    } else if (launch.idle->is_worth_learning()) {
      learner.emplace(state, words);
    }
  }
  const std::uint64_t warps = WarpsOf(launch.block);
  for (std::uint64_t first = 0; first < count && state.stop == Stop::kNone; first += together) {
    for (std::uint64_t i = 0; i < together; ++i) {
      StartBlock(*blocks[i], state, chosen ? launch.blocks[first + i] : first + i,
                 idle == nullptr ? 0 : idle->warps >> (first * warps));
    }
    if (learner) learner->Begin(*blocks.front(), first * warps);
    state.tracks_unknown ? RunBlocks<true>(blocks, state) : RunBlocks<false>(blocks, state);
    const std::uint64_t steps = limits.warp_steps - state.steps_left;
    if (together == 1 && IsHopeless(limits, steps, first + 1, count)) state.End(Stop::kLimit);
  }
  if (learner && state.stop == Stop::kNone) {
    launch.idle->Add(std::move(*learner).Memo(launch.parameters));
  }
  return {state.stop, state.stop_address, state.lane_steps};
}

}  // namespace eidolon::interpret
