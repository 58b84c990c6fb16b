#include "shim/vendor/cuda_driver/driver_digest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace eidolon::shim::cuda_driver {
namespace {

std::string Hex(const Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

std::string Md2Of(std::string_view text) {
  Md2 md2;
  md2.Update(std::as_bytes(std::span(text)));
  return Hex(md2.Finish());
}

TEST(DriverDigestTest, Md2GivesTheDigestsOfItsStandard) {  // RFC 1319, A.5.
  EXPECT_EQ(Md2Of(""), "8350e5a3e24c153df2275c9f80692773");
  EXPECT_EQ(Md2Of("a"), "32ec01ec4a6dac72c0ab96fb34c0b5d1");
  EXPECT_EQ(Md2Of("message digest"), "ab4f496bfb2a530b219ff33031fe06b0");
  EXPECT_EQ(
      Md2Of("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
      "d5976f79d83d3a0dc9806c3c66f3efd8");
}

TEST(DriverDigestTest, HmacIsTheStandardsConstructionOverMd2) {
  // H(key ^ opad, H(key ^ ipad, text)) with a key of one block, put together by hand.
  Digest key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  Digest inner_key = key;
  Digest outer_key = key;
  for (std::uint8_t& byte : inner_key) byte ^= 0x36;
  for (std::uint8_t& byte : outer_key) byte ^= 0x5c;
  constexpr std::string_view kText = "what do ya want for nothing?";
  Md2 inner;
  inner.Update(std::as_bytes(std::span(inner_key)));
  inner.Update(std::as_bytes(std::span(kText)));
  const Digest inner_digest = inner.Finish();
  Md2 outer;
  outer.Update(std::as_bytes(std::span(outer_key)));
  outer.Update(std::as_bytes(std::span(inner_digest)));

  Md2Hmac hmac(key);
  hmac.Update(std::as_bytes(std::span(kText)).first(5));
  hmac.Update(std::as_bytes(std::span(kText)).subspan(5));

  EXPECT_EQ(Hex(hmac.Finish()), Hex(outer.Finish()));
}

TEST(DriverDigestTest, DependsOnProcessAndDevices) {
  DigestedProcess process{};
  process.runtime_version = 12;
  const DigestedDevice device{{1, 2, 3}, 0, 4, 5};
  const Digest without = DriverDigest(process, {});
  const Digest with = DriverDigest(process, {&device, 1});
  process.unix_seconds = 1;
  EXPECT_NE(without, with);
  EXPECT_NE(without, DriverDigest(process, {}));
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
