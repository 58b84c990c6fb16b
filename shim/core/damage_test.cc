// Somebody writes over the memory that is shared with the agent. Each case has a process of its
// own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

constexpr std::uint64_t kGarbage = 0x3b9d'f00d'1234'5678u;

void Charge() {
  Enter("x", ring::CallClass::kLaunch, -1, [] { return 0; });
}
void Launch() {
  ring::LaunchRecord record{};
  record.header.kind = ring::RecordKind::kLaunch;
  Append(*Session::Get(), record);
}
Session::Answer Synchronize() {
  ring::WaitRecord question{};
  question.header.kind = ring::RecordKind::kSynchronizeStream;
  std::byte room[64];
  return Ask(*Session::Get(), question, /*advance_clock=*/true, room);
}

// Runs `damage` with a session that has worked, and ends with what the agent is told.
[[noreturn]] void TellAgentOf(const std::function<void(FakeAgent&)>& damage) {
  FakeAgent& agent = FakeAgent::Start();
  Charge();
  Launch();
  damage(agent);
  for (const FakeAgent::Record& record : agent.RecordsOf(ring::RecordKind::kDamage)) {
    const auto& mark = record.As<ring::MarkRecord>();
    std::fprintf(stderr, "%.*s\n", static_cast<int>(mark.name_bytes),
                 reinterpret_cast<const char*>(record.bytes.data() + sizeof(mark)));
  }
  std::exit(0);
}

// Answers every question, and then lets `damage` write into the segment before the asker looks.
void AnswerAndDamage(FakeAgent& agent, const std::function<void(ring::ReplySlot*, char*)>& damage) {
  agent.AnswerWith([](const FakeAgent::Record& record) {
    auto reply = FakeAgent::DefaultAnswer(record);
    reply.payload = std::vector<std::byte>(32, std::byte{7});
    return reply;
  });
  agent.BeforeReady([&agent, damage](std::uint32_t slot) {
    damage(&ring::RepliesOf(agent.segment())[slot],
           ring::PayloadOf(agent.segment(), static_cast<int>(slot)));
  });
  if (Synchronize().status != ring::ReplyStatus::kJobEnding) std::exit(1);
}

TEST(DamageTest, ARankClockThatLeaptAheadIsTold) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                agent.cursors().clock_ps.value.store(kGarbage);
                Charge();
                Launch();
                if (Now().ps > 1'000'000'000) std::exit(1);
              }),
              ::testing::ExitedWithCode(0), "^the rank clock was overwritten\n$");
}

TEST(DamageTest, ARankClockThatFellBackIsMadeGoodAgain) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                const std::uint64_t before = agent.cursors().clock_ps.value.exchange(0);
                Charge();
                Launch();
                if (agent.cursors().clock_ps.value.load() <= before) std::exit(1);
              }),
              ::testing::ExitedWithCode(0), "^$");
}

TEST(DamageTest, AFloorThatTheAgentDidNotRaiseIsTold) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                agent.cursors().floor_ps.value.store(kGarbage);
                Charge();
                Launch();
                if (Now().ps > 1'000'000'000) std::exit(1);
              }),
              ::testing::ExitedWithCode(0), "^the floor of the rank clock was overwritten\n$");
}

TEST(DamageTest, AnAnswerThatWasOverwrittenIsTold) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                AnswerAndDamage(agent,
                                [](ring::ReplySlot* slot, char*) { slot->value_ps = kGarbage; });
              }),
              ::testing::ExitedWithCode(0), "^an answer of the agent was overwritten\n$");
}

TEST(DamageTest, ThePayloadOfAnAnswerThatWasOverwrittenIsTold) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                AnswerAndDamage(agent, [](ring::ReplySlot*, char* payload) { payload[17] = 9; });
              }),
              ::testing::ExitedWithCode(0), "^an answer of the agent was overwritten\n$");
}

TEST(DamageTest, ASlotThatBecameReadyByItselfIsTold) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                AnswerAndDamage(agent, [](ring::ReplySlot* slot, char*) {
                  slot->check = 0;  // As it is until an answer comes.
                });
              }),
              ::testing::ExitedWithCode(0), "^an answer of the agent was overwritten\n$");
}

TEST(DamageTest, WhatTheAgentSaidAtTheBeginningIsKept) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                std::memset(agent.segment(), 0x5a, ring::kCursorsOffset);
                std::memset(ring::DevicesOf(agent.segment()), 0x5a,
                            ring::kRepliesOffset - ring::kDevicesOffset);
                const Session& session = *Session::Get();
                const bool kept = session.device_count() == 2 && session.header().strict == 0 &&
                                  session.device(1).compute_major == 9;
                if (!kept) std::exit(1);
              }),
              ::testing::ExitedWithCode(0), "^$");
}

TEST(DamageTest, AWritePositionThatWasOverwrittenIsToldByWhoWaits) {
  EXPECT_EXIT(TellAgentOf([](FakeAgent& agent) {
                agent.Records();
                agent.Pause();
                std::thread hand([&agent] {
                  std::atomic<std::uint64_t>& written = agent.cursors().write_position.value;
                  const std::uint64_t before = agent.cursors().read_position.value.load();
                  while (written.load() == before) std::this_thread::yield();
                  written.store(before);
                  // Told: the position stands behind question and damage.
                  while (written.load() == before) std::this_thread::yield();
                  agent.Resume();
                });
                if (Synchronize().status != ring::ReplyStatus::kJobEnding) std::exit(1);
                hand.join();
              }),
              ::testing::ExitedWithCode(0), "^the write position was overwritten\n$");
}

}  // namespace
}  // namespace eidolon::shim::core
