#include "services/agent/session/program_inputs.h"

#include <gtest/gtest.h>

#include <utility>

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using wire::CommunicationKind;
using wire::InputKind;

constexpr std::uint64_t kModel = 1, kLoss = 2, kLoader = 3;

class ProgramInputsTest : public testing::Test {
 protected:
  void Note(InputKind kind, std::uint64_t source, std::uint64_t samples, std::uint64_t tokens = 0) {
    wire::InputsRecord record{};
    record.kind = kind;
    record.source = source;
    record.samples = samples;
    record.tokens = tokens;
    inputs_.Note(sequence_, record);
  }
  void Multiply(std::uint64_t flops = 1000) {
    inputs_.NoteWork({.matrix_flops = flops});
    ++sequence_;
  }
  void Communicate(CommunicationKind kind, std::uint64_t bytes, std::uint32_t size = 2) {
    const wire::CommunicationOp op{.kind = kind, .bytes = bytes};
    inputs_.NoteCalls(sequence_++, size, {&op, 1});
  }
  void Call(std::uint64_t module, std::uint64_t samples, std::uint64_t flops,
            std::uint64_t tokens = 0) {
    Note(InputKind::kCall, module, samples, tokens);
    Multiply(flops);
    Note(InputKind::kCallEnd, 0, 0);
  }
  std::optional<iteration::Inputs> Take() {
    return inputs_.Take(std::exchange(taken_, sequence_), sequence_);
  }

  ProgramInputs inputs_;
  std::uint64_t sequence_ = 0;
  std::uint64_t taken_ = 0;
};

TEST_F(ProgramInputsTest, TheModelIsTheModuleWhoseCallsMultiplyMost) {
  Call(kModel, 16, 1000);
  Call(kLoss, 999, 10);
  Multiply(100'000);  // The backward pass.

  EXPECT_EQ(Take(), (iteration::Inputs{.samples = 16}));
}

TEST_F(ProgramInputsTest, CallsOfAnIterationAddUp) {
  Call(kModel, 16, 1000, 160);
  Call(kModel, 8, 1000, 80);
  EXPECT_EQ(Take(), (iteration::Inputs{.samples = 24, .tokens = 240}));

  Call(kModel, 4, 1000, 40);
  Call(kModel, 4, 1000);
  EXPECT_EQ(Take(), (iteration::Inputs{.samples = 8}));

  Call(kModel, 4, 1000);
  Call(kModel, 0, 1000);
  EXPECT_EQ(Take(), iteration::Inputs{});
}

TEST_F(ProgramInputsTest, WithoutAModuleThatMultipliesThereIsNothing) {
  EXPECT_FALSE(Take());
  Note(InputKind::kBatch, kLoader, 8);
  Call(kLoss, 8, 0);
  EXPECT_FALSE(Take());
}

TEST_F(ProgramInputsTest, BatchesOfOneLoaderCount) {
  Note(InputKind::kBatch, kLoader, 8);
  Note(InputKind::kBatch, kLoader, 8);
  Call(kModel, 32, 1000);
  EXPECT_EQ(Take()->batch, 16u);

  Note(InputKind::kBatch, kLoader, 8);
  Note(InputKind::kBatch, kLoader + 1, 8);
  Call(kModel, 16, 1000);
  EXPECT_EQ(Take()->batch, 0u);

  Note(InputKind::kBatch, kLoader, 0);
  Call(kModel, 16, 1000);
  EXPECT_EQ(Take()->batch, 0u);
}

TEST_F(ProgramInputsTest, RowsThatAreExchangedWithinACallMayBelongToSharedSamples) {
  const auto is_clear_with = [this](CommunicationKind kind, std::uint64_t bytes) {
    Note(InputKind::kCall, kModel, 16);
    Multiply();
    Communicate(kind, bytes);
    Note(InputKind::kCallEnd, 0, 0);
    Communicate(CommunicationKind::kAllReduce, 1 << 20);  // Gradients.
    return Take()->is_clear;
  };

  EXPECT_TRUE(is_clear_with(CommunicationKind::kAllGather, 1 << 20));  // Parameters.
  EXPECT_TRUE(is_clear_with(CommunicationKind::kAllReduce, 16 * 8));   // A number for each.
  EXPECT_FALSE(is_clear_with(CommunicationKind::kAllReduce, 16 * 512));
  EXPECT_FALSE(is_clear_with(CommunicationKind::kReduceScatter, 16 * 512));
  EXPECT_FALSE(is_clear_with(CommunicationKind::kSend, 16 * 512));
  EXPECT_TRUE(is_clear_with(CommunicationKind::kBroadcast, 1 << 20));
}

TEST_F(ProgramInputsTest, OnceSequencesAreSharedNoIterationIsClear) {
  Call(kModel, 2, 1000);
  EXPECT_TRUE(Take()->is_clear);
  Note(InputKind::kSharedSequences, 0, 0);
  Call(kModel, 2, 1000);
  EXPECT_FALSE(Take()->is_clear);
  Call(kModel, 2, 1000);
  EXPECT_FALSE(Take()->is_clear);
}

TEST_F(ProgramInputsTest, AStageThatReceivesBeforeItsFirstCallIsALaterOne) {
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (int part = 0; part < 2; ++part) {
      Communicate(CommunicationKind::kReceive, 4096);
      Call(kModel, 8, 1000);
      Communicate(CommunicationKind::kReceive, 4096);  // Gradients.
      Communicate(CommunicationKind::kSend, 4096);
    }
    EXPECT_EQ(Take(), (iteration::Inputs{.samples = 16, .is_later_stage = true}));
  }
}

TEST_F(ProgramInputsTest, TheFirstStageReceivesBehindItsFirstCall) {
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (int part = 0; part < 2; ++part) {
      Call(kModel, 8, 1000);
      Communicate(CommunicationKind::kSend, 4096);
      Communicate(CommunicationKind::kReceive, 4096);
    }
    EXPECT_EQ(Take(), (iteration::Inputs{.samples = 16}));
  }
}

TEST_F(ProgramInputsTest, ACallThatIsOpenWhenAnIterationIsTakenKeepsItsWork) {
  Call(kModel, 8, 1000);
  Multiply();
  const std::uint64_t end = sequence_;
  Note(InputKind::kCall, kModel, 4);
  EXPECT_EQ(inputs_.Take(0, end), (iteration::Inputs{.samples = 8}));
  Multiply();
  Note(InputKind::kCallEnd, 0, 0);
  EXPECT_EQ(inputs_.Take(end, sequence_), (iteration::Inputs{.samples = 4}));
}

}  // namespace
}  // namespace eidolon::agent::session
