#include "services/agent/session/usage_ledger.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;

wire::MarkRecord Read(std::uint32_t source, std::uint64_t bytes) {
  wire::MarkRecord mark{};
  mark.id = bytes;
  mark.reserved = source;
  return mark;
}

TEST(UsageLedgerTest, ARefusedCallCountsAtLeastOnce) {
  UsageLedger usage;

  usage.RefuseCall("cudaX", 0);
  usage.RefuseCall("cudaX", 4);

  EXPECT_EQ(usage.now().refused_calls.at("cudaX"), 5u);
}

TEST(UsageLedgerTest, ReadsOfAKnownSourceAreAddedUpThere) {
  UsageLedger usage;
  const std::string_view name = "writer\n2\ntrain.py:40\nzero";
  wire::MarkRecord source{};
  source.id = 6;
  source.name_bytes = static_cast<std::uint32_t>(name.size());
  source.reserved = 11;
  std::vector<std::uint64_t> bytes((sizeof(source) + name.size() + 7) / 8);
  std::memcpy(bytes.data(), &source, sizeof(source));
  std::memcpy(reinterpret_cast<char*>(bytes.data()) + sizeof(source), name.data(), name.size());
  usage.NoteUnknownSource(*reinterpret_cast<const wire::MarkRecord*>(bytes.data()));

  usage.NoteUnknownRead(Read(6, 4));
  usage.NoteUnknownRead(Read(6, 8));
  usage.NoteUnknownRead(Read(7, 8));

  EXPECT_EQ(usage.now().unknown_reads, 3u);
  const UnknownReads& reads = usage.now().unknown_sources.at(6);
  EXPECT_EQ(reads.reads, 2u);
  EXPECT_EQ(reads.bytes, 12u);
  EXPECT_EQ(reads.declaration, 11u);
  EXPECT_EQ(reads.source.line, "train.py:40");
}

TEST(UsageLedgerTest, PlacesAreCountedAndSoManyKept) {
  UsageLedger usage;

  usage.NoteGuessedCollective("train.py:1");
  usage.NoteGuessedCollective("");
  for (std::size_t i = 0; i < kMostSites + 8; ++i) {
    usage.NoteGuessedCollective("train.py:" + std::to_string(i));
    usage.NoteWorkDifference("rank 0 and " + std::to_string(i));
  }

  EXPECT_EQ(usage.now().guessed_collectives, kMostSites + 10);
  EXPECT_EQ(usage.now().guessed_sites.at("train.py:1"), 2u);
  EXPECT_EQ(usage.now().guessed_sites.size(), kMostSites);
  EXPECT_EQ(usage.now().work_differences.size(), kMostSites);
  EXPECT_EQ(usage.now().work_differences_total, kMostSites + 8);
}

TEST(UsageLedgerTest, WhatIsUsedAfterTheFreezeIsNotReported) {
  UsageLedger usage;
  usage.NoteUnknownRead(Read(1, 1));
  EXPECT_EQ(usage.reported().unknown_reads, 1u);
  usage.Freeze();

  usage.NoteUnknownRead(Read(1, 1));

  EXPECT_EQ(usage.now().unknown_reads, 2u);
  EXPECT_EQ(usage.reported().unknown_reads, 1u);
}

}  // namespace
}  // namespace eidolon::agent::session
