#include "services/machine_code/cubin/fat_binary.h"

#include <gtest/gtest.h>

#include <string>

#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

Bytes AsBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

struct ChoiceCase {
  Capability device;
  std::string expected;  // Empty: nothing.
};

TEST(FatBinaryTest, ChoosesWhatTheDriverWould) {
  const std::string file = ReadSample("zstandard.fatbin");
  const auto binary = FatBinary::Parse(AsBytes(file));
  ASSERT_TRUE(binary) << binary.error().message;
  const ChoiceCase cases[] = {
      {{7, 0}, ""},                                                     // Older than everything.
      {{7, 5}, "sm_75"},      {{8, 0}, "sm_80"},    {{8, 9}, "sm_80"},  // Same major, lower minor.
      {{9, 0}, "sm_90a"},  // Specific code only on its own architecture.
      {{10, 0}, "sm_100a"},   {{10, 3}, "sm_103a"}, {{12, 0}, "sm_120f"},
      {{12, 1}, "sm_120f"},    // Family code on a later member.
      {{11, 0}, "ptx sm_90"},  // No machine code for this major.
  };

  for (const ChoiceCase& row : cases) {
    const FatEntry* chosen = binary->Choose(row.device);
    const std::string name =
        chosen == nullptr ? "" : (chosen->is_ptx ? "ptx " : "") + Name(chosen->target);
    EXPECT_EQ(name, row.expected) << row.device.number();
  }
}

TEST(FatBinaryTest, UnpacksTheSameCodeFromEveryCompression) {
  const std::string zstandard = ReadSample("zstandard.fatbin");
  const std::string lz4 = ReadSample("lz4.fatbin");
  const auto first = FatBinary::Parse(AsBytes(zstandard));
  const auto second = FatBinary::Parse(AsBytes(lz4));
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->entries().size(), 11u);
  ASSERT_EQ(second->entries().size(), 11u);

  for (std::size_t i = 0; i < first->entries().size(); ++i) {
    EXPECT_EQ(first->entries()[i].compression, Compression::kZstandard);
    EXPECT_EQ(second->entries()[i].compression, Compression::kLz4);
    const auto a = Unpack(first->entries()[i]);
    const auto b = Unpack(second->entries()[i]);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*a, *b);
    EXPECT_FALSE(a->empty());
  }
}

TEST(FatBinaryTest, RefusesDamage) {
  const std::string file = ReadSample("zstandard.fatbin");
  EXPECT_FALSE(FatBinary::Parse({}));
  EXPECT_FALSE(FatBinary::Parse(AsBytes("not a fat binary at all")));
  EXPECT_FALSE(FatBinary::Parse(AsBytes(file).first(file.size() - 1)));

  std::string flipped = file;
  constexpr std::size_t kPayload = 16 + 64;
  flipped[kPayload + 1] = static_cast<char>(~flipped[kPayload + 1]);
  const auto binary = FatBinary::Parse(AsBytes(flipped));
  ASSERT_TRUE(binary);
  const auto unpacked = Unpack(binary->entries()[0]);
  ASSERT_FALSE(unpacked);
  EXPECT_NE(unpacked.error().message.find("sm_75"), std::string::npos);
}

TEST(FatBinaryTest, RefusesAnEntryThatLiesAboutItsSize) {
  std::string file = ReadSample("lz4.fatbin");
  constexpr std::size_t kUnpackedBytes = 16 + 56;
  file[kUnpackedBytes + 3] = 0x10;  // 256 MiB out of 2 KiB.

  const auto binary = FatBinary::Parse(AsBytes(file));

  ASSERT_TRUE(binary);
  EXPECT_FALSE(Unpack(binary->entries()[0]));
}

TEST(FatBinaryTest, RefusesAFrameThatCannotHoldWhatItsEntryClaims) {
  // A Zstandard frame with a window of 128 KiB, without a content size and with one empty block.
  const std::string frame("\x28\xb5\x2f\xfd\x00\x38\x01\x00\x00", 9);
  FatEntry entry{.target = {90}, .compression = Compression::kZstandard, .payload = AsBytes(frame)};
  EXPECT_TRUE(Unpack(entry));
  entry.unpacked_bytes = std::uint64_t{200} << 20;

  const auto unpacked = Unpack(entry);

  ASSERT_FALSE(unpacked);
  EXPECT_NE(unpacked.error().message.find("too short"), std::string::npos)
      << unpacked.error().message;
}

TEST(FatBinaryTest, ReadsItsSizeFromTheHeader) {
  const std::string file = ReadSample("lz4.fatbin");

  EXPECT_EQ(FatBinaryBytes(file.data()), file.size());
  EXPECT_EQ(FatBinaryBytes("0123456789abcdef"), std::nullopt);
}

}  // namespace
}  // namespace eidolon::cubin
