#include "services/machine_code/interpret/effect.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/random.h"
#include "services/machine_code/interpret/layout.h"
#include "services/machine_code/interpret/samples_test.h"
#include "services/machine_code/interpret/unknown_steps.h"
#include "services/machine_code/sass/forms.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::interpret {
namespace {

constexpr std::size_t kPages = 1;
constexpr std::uint32_t kSharedBytes = 0x2000;
constexpr std::uint32_t kLocalBytes = 256;
constexpr std::size_t kBankBytes = (1 << 17) + 64;

// One warp of a block, and all that it can reach.
struct Machine {
  explicit Machine(const Program& program) : memory(kPages) {
    state.program = &program;
    state.memory = &memory;
    state.block = {32, 1, 1};
    state.bank0.resize(kBankBytes);
    state.parameter_base = LayoutOf(program.dialect).parameters;
    state.local_bytes = kLocalBytes;
    state.tracks_unknown = true;
    for (const Step& step : program.steps) state.effects.push_back(EffectOf(step));
    block.launch = &state;
    block.warps.resize(1);
    block.rows.resize(kRegisterRows * kLanes);
    block.shared.resize(kSharedBytes);
    block.local.resize(kLocalBytes * kLanes);
    block.live_threads = kLanes;
    Warp& warp = block.warps[0];
    warp.block = &block;
    warp.launch = &state;
    warp.rows = block.rows.data();
    warp.predicate[sass::kTruePredicate] = ~0u;
    warp.uniform_predicate[sass::kTruePredicate] = ~0u;
    warp.live = ~0u;
    warp.groups.push_back({.lanes = ~0u});
    StartUnknowns(block);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Warp& warp() { return block.warps[0]; }
  WarpUnknowns& unknowns() { return *warp().unknowns; }
  bool Knows(std::size_t byte) { return (memory.page(0).known[byte / 64] >> byte % 64 & 1) != 0; }

  LaunchState state;
  BufferMemory memory;
  Block block;
};

// Two machines that agree in all that is known, and where the operands of an access lead into
// memory. The second one holds the truth as a GPU may have it.
class TwoMachines {
 public:
  TwoMachines(const Program& program, base::Random& random)
      : random_(random), step_(program.steps[0]), tracked_(program), real_(program) {
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= kBankBytes; i += sizeof(std::uint64_t)) {
      const std::uint64_t word = random_.Next();
      std::memcpy(&tracked_.state.bank0[i], &word, sizeof(word));
    }
    real_.state.bank0 = tracked_.state.bank0;
    FillRegisters();
    FillMemory();
    LeadIntoMemory();
  }

  // Empty, or a description of what was wrongly called known.
  std::optional<std::string> Run() {
    const auto some = [&] { return static_cast<std::uint32_t>(random_.Next()); };
    const std::uint32_t all = random_.Below(2) == 0 ? ~0u : some() | 1;
    const std::uint32_t perhaps = random_.Below(3) == 0 ? all & some() & some() : 0;
    const std::uint32_t taken = step_.uniform && perhaps != 0
                                    ? (random_.Below(2) != 0 ? all : 0)
                                    : (all & ~perhaps) | (perhaps & some());
    const Lineup lanes{.certain = step_.uniform && perhaps != 0 ? 0 : all & ~perhaps,
                       .perhaps = step_.uniform && perhaps != 0 ? all : perhaps};
    RunTracked(tracked_.warp(), step_, lanes);
    if (taken != 0) step_.run(real_.warp(), step_, taken);
    if (tracked_.state.stop != Stop::kNone || real_.state.stop != Stop::kNone) return std::nullopt;
    compared_ = true;
    return FindWrong();
  }

  bool compared() const { return compared_; }

 private:
  // Few values: comparisons and logic have to meet equal ones, zeros and ones.
  std::uint32_t Value() {
    switch (random_.Below(4)) {
      case 0:
        return static_cast<std::uint32_t>(random_.Below(3));
      case 1:
        return ~static_cast<std::uint32_t>(random_.Below(2));
      default:
        return static_cast<std::uint32_t>(random_.Next());
    }
  }
  // Mostly a few lanes, or none.
  std::uint32_t Mask() {
    const auto some = [&] { return static_cast<std::uint32_t>(random_.Next()); };
    const std::uint64_t kind = random_.Below(8);
    return kind < 5 ? 0 : kind == 5 ? ~0u : kind == 6 ? some() : some() & some() & some();
  }

  void FillRegisters() {
    Warp& a = tracked_.warp();
    Warp& b = real_.warp();
    WarpUnknowns& unknowns = tracked_.unknowns();
    for (unsigned row = kFirstRow; row < kRegisterRows; ++row) {
      unknowns.rows[row] = Mask();
      for (unsigned i = 0; i < kLanes; ++i) {
        a.Row(row)[i] = Value();
        b.Row(row)[i] = (unknowns.rows[row] >> i & 1) != 0 ? Value() : a.Row(row)[i];
      }
    }
    for (unsigned i = 0; i < sass::kTruePredicate; ++i) {
      unknowns.predicate[i] = Mask();
      a.predicate[i] = Value();
      b.predicate[i] =
          (a.predicate[i] & ~unknowns.predicate[i]) | (Value() & unknowns.predicate[i]);
      unknowns.uniform_predicate[i] = random_.Below(3) == 0 ? ~0u : 0;
      a.uniform_predicate[i] = random_.Below(2) == 0 ? ~0u : 0;
      const bool flips = unknowns.uniform_predicate[i] != 0 && random_.Below(2) == 0;
      b.uniform_predicate[i] = flips ? ~a.uniform_predicate[i] : a.uniform_predicate[i];
    }
    for (unsigned i = 0; i < sass::kZeroUniform; ++i) {
      unknowns.uniform[i] = random_.Below(3) == 0 ? ~0u : 0;
      a.uniform[i] = Value();
      b.uniform[i] = unknowns.uniform[i] != 0 ? Value() : a.uniform[i];
    }
  }

  // A byte, and whether it is known; what is not has another value in the real machine.
  template <typename Mark>
  void FillByte(std::byte& a, std::byte& b, Mark&& mark) {
    a = b = static_cast<std::byte>(random_.Below(3));
    if (random_.Below(12) != 0) return;
    mark();
    b = static_cast<std::byte>(random_.Next());
  }

  void FillMemory() {
    BlockUnknowns& unknowns = tracked_.block.unknowns;
    for (std::size_t i = 0; i < kPageBytes; ++i) {
      FillByte(tracked_.memory.At<std::byte>(i), real_.memory.At<std::byte>(i),
               [&] { tracked_.memory.page(0).known[i / 64] &= ~(std::uint64_t{1} << i % 64); });
    }
    for (std::size_t i = 0; i < kSharedBytes; ++i) {
      FillByte(tracked_.block.shared[i], real_.block.shared[i], [&] { unknowns.shared[i] = 1; });
    }
    for (std::size_t i = 0; i < tracked_.block.local.size(); ++i) {
      FillByte(tracked_.block.local[i], real_.block.local[i], [&] { unknowns.local[i] = 1; });
    }
  }

  // Addresses lie in registers behind bit 24; of copies to shared memory also behind bit 16.
  void LeadIntoMemory() {
    if (EffectOf(step_).kind != Effect::Kind::kOwn) return;
    const auto put = [&](unsigned at, unsigned word, bool global) {
      const unsigned row = SourceRow(step_.word.Bits(at, 8));
      if (row == kZeroRow) return;
      for (unsigned i = 0; i < kLanes; ++i) {
        const auto low = static_cast<std::uint32_t>(random_.Below(kPageBytes / 64) * 64);
        const std::uint32_t value = word == 1 ? static_cast<std::uint32_t>(kBuffer >> 32)
                                    : global
                                        ? static_cast<std::uint32_t>(kBuffer) + low
                                        : low % (step_.operation == sass::Operation::kLdl ||
                                                         step_.operation == sass::Operation::kStl
                                                     ? kLocalBytes
                                                     : kSharedBytes);
        tracked_.warp().Row(row + word)[i] = value;
        const bool unknown = (tracked_.unknowns().rows[row + word] >> i & 1) != 0;
        real_.warp().Row(row + word)[i] = unknown && word == 0 ? value ^ 16 : value;
      }
    };
    switch (step_.operation) {
      case sass::Operation::kLds:
      case sass::Operation::kLdl:
      case sass::Operation::kSts:
      case sass::Operation::kStl:
      case sass::Operation::kLdsm:
      case sass::Operation::kStsm:
      case sass::Operation::kAtoms:
      case sass::Operation::kAtomsCas:
      case sass::Operation::kAtomsPopcInc:
        return put(24, 0, false);
      case sass::Operation::kLdc:
        return put(24, 0, false);
      case sass::Operation::kShfl:
      case sass::Operation::kSel:
      case sass::Operation::kFsel:
      case sass::Operation::kLop3:
      case sass::Operation::kPlop3:
      case sass::Operation::kUldc:
        return;
      case sass::Operation::kLdgsts:
        put(16, 0, false);
        [[fallthrough]];
      default:
        put(24, 0, true);
        put(24, 1, true);
    }
  }

  std::optional<std::string> FindWrong() {
    const WarpUnknowns& unknowns = tracked_.unknowns();
    Warp& a = tracked_.warp();
    Warp& b = real_.warp();
    for (unsigned row = kFirstRow; row < kRegisterRows; ++row) {
      for (unsigned i = 0; i < kLanes; ++i) {
        const bool unknown = (unknowns.rows[row] >> i & 1) != 0;
        if (!unknown && a.Row(row)[i] != b.Row(row)[i])
          return "register " + std::to_string(row - 2);
      }
    }
    for (unsigned i = 0; i < 8; ++i) {
      if (((a.predicate[i] ^ b.predicate[i]) & ~unknowns.predicate[i]) != 0) return "predicate";
      if (((a.uniform_predicate[i] ^ b.uniform_predicate[i]) & ~unknowns.uniform_predicate[i]) != 0)
        return "uniform predicate";
    }
    for (unsigned i = 0; i < 256; ++i) {
      if (unknowns.uniform[i] == 0 && a.uniform[i] != b.uniform[i]) return "uniform register";
    }
    const BlockUnknowns& block = tracked_.block.unknowns;
    for (std::size_t i = 0; i < kPageBytes; ++i) {
      const bool same = tracked_.memory.At<std::byte>(i) == real_.memory.At<std::byte>(i);
      if (tracked_.Knows(i) && !same) return "global memory";
    }
    for (std::size_t i = 0; i < kSharedBytes; ++i) {
      const bool same = tracked_.block.shared[i] == real_.block.shared[i];
      if (block.shared[i] == 0 && !same) return "shared memory";
    }
    for (std::size_t i = 0; i < tracked_.block.local.size(); ++i) {
      const bool same = tracked_.block.local[i] == real_.block.local[i];
      if (block.local[i] == 0 && !same) return "local memory";
    }
    return std::nullopt;
  }

  base::Random& random_;
  const Step& step_;
  Machine tracked_;
  Machine real_;
  bool compared_ = false;
};

// A word of this operation; all its other fields are random, but for those that would hardly ever
// be right.
sass::Word RandomWord(const sass::Form& form, unsigned slots, base::Random& random) {
  sass::Word word{random.Next(), random.Next()};
  word.Set(0, 12, form.base | slots << 9);
  word.Set(12, 4, sass::kTruePredicate);
  const auto sometimes = [&](unsigned at, unsigned width, std::uint64_t value, unsigned of) {
    if (random.Below(of) != 0) word.Set(at, width, value);
  };
  sometimes(54, 5, 0, 8);  // Constant bank.
  sometimes(64, 8, sass::kZeroRegister, 3);
  sometimes(81, 3, sass::kTruePredicate, 2);
  sometimes(84, 3, sass::kTruePredicate, 2);
  sometimes(87, 4, sass::kTruePredicate, 3);
  sometimes(91, 1, 0, 4);
  const bool is_access = form.text.find("$g") != std::string_view::npos ||
                         form.text.find("$s") != std::string_view::npos;
  if (is_access) sometimes(40, 24, 16 * random.Below(4), 10);                // The offset.
  if (form.operation == sass::Operation::kLdgsts) sometimes(32, 32, 0, 10);  // Both.
  return word;
}

TEST(EffectTest, NothingThatDependsOnAnUnknownValueIsCalledKnown) {
  base::Random random(7);
  std::set<sass::Operation> compared;
  std::map<sass::Operation, std::string> able;
  Program program;
  for (std::uint32_t bank = 1; bank < 5; ++bank) program.banks[bank].resize(kBankBytes);
  for (const auto forms : {sass::FloatForms(), sass::IntegerForms(), sass::UniformForms(),
                           sass::MemoryForms(), sass::Forms100()}) {
    program.dialect =
        forms.data() == sass::Forms100().data() ? sass::Dialect::k100 : sass::Dialect::k90;
    program.parameter_base = LayoutOf(program.dialect).parameters;
    for (const sass::Form& form : forms) {
      // Few words of some operations can be compared: those get more.
      for (unsigned i = 0; i < 150 || (i < 1500 && !compared.contains(form.operation)); ++i) {
        const auto slots = static_cast<unsigned>(random.Below(8));
        if ((form.forms >> slots & 1) == 0) continue;
        const sass::Word word = RandomWord(form, slots, random);
        program.immediates.clear();
        if (!Translate(std::as_bytes(std::span(&word, 1)), program)) continue;
        const Step& step = program.steps[0];
        if (step.control) continue;
        able.emplace(step.operation, sass::Print(word, 0, program.dialect));
        EXPECT_NE(EffectOf(step).kind, Effect::Kind::kNone) << form.text;

        TwoMachines pair(program, random);
        const std::optional<std::string> wrong = pair.Run();

        EXPECT_FALSE(wrong) << *wrong << " of " << sass::Print(word, 0, program.dialect);
        if (pair.compared()) compared.insert(step.operation);
        if (wrong) return;
      }
    }
  }
  for (const auto& [operation, text] : able) EXPECT_TRUE(compared.contains(operation)) << text;
  EXPECT_GT(compared.size(), 80u);
}

}  // namespace
}  // namespace eidolon::interpret
