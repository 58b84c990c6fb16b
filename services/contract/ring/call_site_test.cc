#include "services/contract/ring/call_site.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace eidolon::ring {
namespace {

// One operation, and what stands behind it.
std::vector<std::byte> Record(std::uint32_t payload_bytes, std::string_view tail) {
  std::vector<std::byte> bytes(sizeof(CommunicationRecord) + sizeof(CommunicationOp));
  CommunicationRecord record{};
  record.op_count = 1;
  record.payload_bytes = payload_bytes;
  std::memcpy(bytes.data(), &record, sizeof(record));
  for (const char c : tail) bytes.push_back(static_cast<std::byte>(c));
  while (bytes.size() % 8 != 0) bytes.push_back(std::byte{0});
  return bytes;
}

TEST(CallSiteTest, StandsBehindThePayload) {
  EXPECT_EQ(CallSiteOf(Record(3, "abctrain.py:40")), "train.py:40");
  EXPECT_EQ(CallSiteOf(Record(3, "abc")), "");
  EXPECT_EQ(CallSiteOf(Record(0, "")), "");
}

TEST(CallSiteTest, IsTextOfSoManyBytes) {
  EXPECT_EQ(CallSiteOf(Record(0, "\xff.py:1")), "?.py:1");
  EXPECT_EQ(CallSiteOf(Record(0, std::string(400, 'a'))).size(), kCallSiteBytesMax);
}

}  // namespace
}  // namespace eidolon::ring
