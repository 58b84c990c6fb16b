// These handlers must move the group's counter themselves: the main loop (run.cc) does so for all
// other instructions only, because a branch splits, moves or ends a group. A handler that forgets
// it repeats its instruction for ever. Compilers also emit a way for diverged lanes: BRA.DIV leads
// them to code that handles one lane after the other where all lanes have to take part. Here the
// lanes wait for each other at that branch instead, so the code behind it never runs.
#include <bit>

#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/schedule.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

// Lanes of the running group, of those in `mask`, for which the second predicate holds.
std::uint32_t Chosen(const Warp& warp, const Step& step, std::uint32_t mask) {
  return mask & ReadPredicate(warp, step.word, 87);
}

void Advance(Warp& warp) { ++warp.group().at; }

void RunBra(Warp& warp, const Step& step, std::uint32_t mask) {
  Branch(warp, Chosen(warp, step, mask), step.jump);
}

// Branches where a uniform predicate holds.
void RunBraUniform(Warp& warp, const Step& step, std::uint32_t mask) {
  Branch(warp, Chosen(warp, step, mask) & ReadUniformPredicate(warp, step.word, 24), step.jump);
}

// The lanes that a branch for diverged or converged ones is about.
std::uint32_t NamedLanes(const Warp& warp, const Step& step) {
  const std::uint32_t uniform = UniformIn(step, 24);
  if (uniform == sass::kZeroUniform) return warp.live;
  return step.word.Bit(30) ? ~warp.uniform[uniform] : warp.uniform[uniform];
}

// Leads diverged lanes to code that brings them together. Here they wait for each other instead.
void RunBraDiverged(Warp& warp, const Step& step, std::uint32_t) {
  Synchronize(warp, NamedLanes(warp, step));
}

// Leads lanes that are together past code that brings them together.
void RunBraConverged(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool together = (NamedLanes(warp, step) & warp.live & ~warp.group().lanes) == 0;
  Branch(warp, together ? Chosen(warp, step, mask) : 0, step.jump);
}

// Lanes go where their registers say; one group for each address.
template <typename TargetOf>
void BranchEach(Warp& warp, std::uint32_t lanes, TargetOf&& target_of) {
  const std::uint64_t steps = warp.launch->program->steps.size();
  while (lanes != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const std::int64_t target = target_of(first);
    std::uint32_t same = 0;
    for (unsigned i = first; i < kLanes; ++i) {
      if ((lanes >> i & 1) != 0 && target_of(i) == target) same |= 1u << i;
    }
    lanes &= ~same;
    const auto index = static_cast<std::uint64_t>(target) / sass::kWordBytes;
    if (target < 0 || static_cast<std::uint64_t>(target) % sass::kWordBytes != 0 ||
        index >= steps) {
      warp.launch->End(Stop::kFault, static_cast<std::uint64_t>(target));
      return;
    }
    Group& group = warp.group();
    if (same == group.lanes) {
      group.at = static_cast<std::uint32_t>(index);
      return;
    }
    group.lanes &= ~same;
    warp.groups.push_back({.lanes = same, .at = static_cast<std::uint32_t>(index)});
  }
  Advance(warp);
}

std::int64_t BehindOf(const Warp& warp, const Step& step) {
  const auto index = static_cast<std::int64_t>(&step - warp.launch->program->steps.data());
  return (index + 1) * static_cast<std::int64_t>(sass::kWordBytes) +
         sass::BranchOffset(step.word, step.dialect);
}

void RunIndirect(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::int64_t base = BehindOf(warp, step);
  const std::uint32_t* row = warp.Row(SourceRow(step.word.Bits(24, 8)));
  BranchEach(warp, Chosen(warp, step, mask), [&](unsigned lane) {
    return static_cast<std::int64_t>(static_cast<std::int32_t>(row[lane]) + base);
  });
}

void RunBrxu(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::int64_t target =
      BehindOf(warp, step) + static_cast<std::int32_t>(warp.uniform[UniformIn(step, 24)]);
  BranchEach(warp, Chosen(warp, step, mask), [&](unsigned) { return target; });
}

void RunExit(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t lanes = Chosen(warp, step, mask);
  if (lanes == 0) return Advance(warp);
  Exit(warp, lanes);
}

// Each lane keeps who takes part, because lanes at several depths of a recursion use one barrier
// for different groups.
void RunBssy(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes& barrier = warp.convergence[step.word.Bits(16, 4)];
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) != 0) barrier[i] = mask;
  }
  Advance(warp);
}

void RunBsync(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t lanes = Chosen(warp, step, mask);
  if (lanes == 0) return Advance(warp);
  if (lanes != warp.group().lanes) {
    const std::uint32_t others = warp.group().lanes & ~lanes;
    warp.group().lanes = lanes;
    warp.groups.push_back({.lanes = others, .at = warp.group().at + 1});
  }
  // Lanes at several depths of a function that calls itself have met by chance: depth by depth.
  const Lanes& partakers = warp.convergence[step.word.Bits(16, 4)];
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  std::uint32_t deeper = 0;
  for (unsigned i = first; i < kLanes; ++i) {
    if ((lanes >> i & 1) != 0 && partakers[i] != partakers[first]) deeper |= 1u << i;
  }
  if (deeper != 0) {
    warp.group().lanes &= ~deeper;
    warp.groups.push_back({.lanes = deeper, .at = warp.group().at});
  }
  Converge(warp, static_cast<std::uint32_t>(step.word.Bits(16, 4)));
}

// Lanes that leave by another way are not waited for at the barrier any more.
void RunBreak(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t lanes = Chosen(warp, step, mask);
  for (std::uint32_t& partakers : warp.convergence[step.word.Bits(16, 4)]) partakers &= ~lanes;
  Advance(warp);
}

void RunBmovToRegister(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes& barrier = warp.convergence[step.word.Bits(24, 4)];
  Put(warp, step.target, mask, barrier);
  if (step.word.Bit(84)) {
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((mask >> i & 1) != 0) barrier[i] = 0;
    }
  }
  Advance(warp);
}

void RunBmovFromRegister(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes& barrier = warp.convergence[step.word.Bits(24, 4)];
  const std::uint32_t* row = warp.Row(SourceRow(step.word.Bits(32, 8)));
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) != 0) barrier[i] = row[i];
  }
  Advance(warp);
}

void RunWarpsync(Warp& warp, const Step& step, std::uint32_t mask) {
  if (sass::FormOf(step.word) == 4) {
    return Synchronize(warp, static_cast<std::uint32_t>(step.word.Bits(32, 32)));
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(mask));
  Synchronize(warp, warp.Row(SourceRow(step.word.Bits(24, 8)))[lane]);
}

// Threads that BAR waits for; 0: all of the block. A register that names the barrier as well has
// them in its upper half.
std::uint32_t ExpectedAt(Warp& warp, const Word& word, std::uint32_t mask) {
  constexpr std::uint32_t kMost = 0xfff;
  const std::uint32_t form = sass::FormOf(word);
  if (form != 1 && form != 4) return static_cast<std::uint32_t>(word.Bits(42, 12));
  const auto lane = static_cast<unsigned>(std::countr_zero(mask));
  const std::uint32_t value = warp.Row(SourceRow(word.Bits(32, 8)))[lane];
  return (form == 1 ? value >> 16 : value) & kMost;
}

void RunBar(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  warp.barrier_wants_all = word.Bits(74, 2) == 1;
  Arrive(warp, {.barrier = BarrierOf(warp, word, mask),
                .expected = ExpectedAt(warp, word, mask),
                .waits = word.Bits(77, 3) != 1,
                .votes = ReadPredicate(warp, word, 87) & mask});
}

// Reads the result of the barrier's reduction: votes in a register, all or any as a predicate.
void RunB2r(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes out;
  out.fill(warp.barrier_votes);
  Put(warp, step.target, mask, out);
  PutPredicate(warp, step.word, 81, mask, warp.barrier_flag ? ~0u : 0u);
  Advance(warp);
}

void RunNothing(Warp& warp, const Step&, std::uint32_t) { Advance(warp); }

void RunTrap(Warp& warp, const Step& step, std::uint32_t) {
  const auto index = &step - warp.launch->program->steps.data();
  warp.launch->End(Stop::kTrap, static_cast<std::uint64_t>(index) * sass::kWordBytes);
}

}  // namespace

std::uint32_t BarrierOf(Warp& warp, const Word& word, std::uint32_t mask) {
  const std::uint32_t form = sass::FormOf(word);
  if (form != 1 && form != 2) return static_cast<std::uint32_t>(word.Bits(54, 4));
  const auto lane = static_cast<unsigned>(std::countr_zero(mask));
  return warp.Row(SourceRow(word.Bits(32, 8)))[lane] % kBarriers;
}

Handler FindControlHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kBra:
      if (sass::FormOf(word) == 2) return word.Bit(84) ? nullptr : RunBraUniform;
      if (word.Bits(32, 2) >= 2) return word.Bits(32, 2) == 2 ? RunBraDiverged : RunBraConverged;
      return word.Bit(84) ? nullptr : RunBra;
    case Operation::kBrx:
      return RunIndirect;
    case Operation::kRet:
      return word.Bit(85) ? nullptr : RunIndirect;
    case Operation::kBrxu:
      return RunBrxu;
    case Operation::kCall:
      return word.Bit(91) ? nullptr : RunBra;
    case Operation::kCallAbsolute:  // Functions of the system: assertions that failed, printing.
    case Operation::kBpt:
      return RunTrap;
    case Operation::kExit:
      return RunExit;
    case Operation::kBssy:
      return RunBssy;
    case Operation::kBsync:
      return RunBsync;
    case Operation::kBreak:
      return RunBreak;
    case Operation::kBmovToRegister:
      return RunBmovToRegister;
    case Operation::kBmovFromRegister:
      return word.Bit(84) ? nullptr : RunBmovFromRegister;
    case Operation::kWarpsync:
      // Collective ones are only behind branches for diverged lanes, which nobody takes here.
      return word.Bits(85, 2) < 2 || sass::FormOf(word) == 4 ? RunWarpsync : RunTrap;
    case Operation::kEndcollective:
      return RunTrap;
    case Operation::kBar:
      // Modes that no compiler emits are left out.
      return word.Bits(77, 3) <= 2 ? RunBar : nullptr;
    case Operation::kB2r:
      return RunB2r;
    case Operation::kYield:
    case Operation::kNop:
    case Operation::kNanosleep:
    case Operation::kMembar:
    case Operation::kErrbar:
    case Operation::kDepbar:
    case Operation::kLdgdepbar:
    case Operation::kCctl:
    case Operation::kLepc:
    case Operation::kPreexit:
      return RunNothing;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
