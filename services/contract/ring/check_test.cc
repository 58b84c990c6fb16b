#include "services/contract/ring/check.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "services/base/random.h"
#include "services/contract/ring/record.h"

namespace eidolon::ring {
namespace {

TEST(CheckTest, NoSingleWordOfARecordChangesUnseen) {
  base::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> record(3 + random.Below(12));
    for (std::uint64_t& word : record) word = random.Next();
    const std::size_t bytes = record.size() * sizeof(record[0]);
    const std::uint64_t position = random.Next();
    const std::uint64_t check = RecordCheck(position, record.data(), bytes);
    const std::size_t at = random.Below(record.size());
    record[at] ^= std::uint64_t{1} << random.Below(64);

    const bool is_check = at == offsetof(RecordHeader, check) / sizeof(record[0]);
    EXPECT_EQ(RecordCheck(position, record.data(), bytes) == check, is_check);
  }
}

TEST(CheckTest, ARecordCountsOnlyWhereItWasWritten) {
  const LaunchRecord record{{sizeof(LaunchRecord), RecordKind::kLaunch, 0, 77}, 1, 2};
  std::set<std::uint64_t> checks;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    checks.insert(RecordCheck(round * kRingBytes, &record, sizeof(record)));
  }
  EXPECT_EQ(checks.size(), 1000u);
}

TEST(CheckTest, AnAnswerCountsWithItsPayloadAndItsSlot) {
  ReplySlot slot{};
  slot.value_ps = 12;
  slot.payload_bytes = 5;
  const std::uint64_t check = ReplyCheck(3, slot, "hello");

  EXPECT_NE(check, 0u);
  EXPECT_NE(check, ReplyCheck(4, slot, "hello"));
  EXPECT_NE(check, ReplyCheck(3, slot, "hallo"));
  slot.value_ps = 13;
  EXPECT_NE(check, ReplyCheck(3, slot, "hello"));
  slot.value_ps = 12;
  slot.status = ReplyStatus::kNotReady;
  EXPECT_NE(check, ReplyCheck(3, slot, "hello"));
}

TEST(CheckTest, NoWordOfAnAnswerIsLostWhereTheOthersAreZero) {
  for (const std::uint32_t number : {0u, 1u, 255u}) {
    std::set<std::uint64_t> checks;
    checks.insert(ReplyCheck(number, {}, nullptr));
    for (std::uint64_t word = 1; word != 0; word <<= 1) {
      ReplySlot value{};
      value.value_ps = word;
      checks.insert(ReplyCheck(number, value, nullptr));
      ReplySlot extra{};
      extra.extra = word;
      checks.insert(ReplyCheck(number, extra, nullptr));
    }
    EXPECT_EQ(checks.size(), 129u);
  }
}

}  // namespace
}  // namespace eidolon::ring
