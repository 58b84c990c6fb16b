#include "services/cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;

TEST(DoctorTest, AcceptsTheSupportedCudaOnly) {
  EXPECT_EQ(JudgeTorch("2.15.0+cu130|13.0").health, Health::kGood);
  EXPECT_EQ(JudgeTorch("2.9.0|12.8").health, Health::kGood);
  EXPECT_EQ(JudgeTorch("2.7.0|11.8").health, Health::kBad);
  EXPECT_THAT(JudgeTorch("2.7.0|11.8").text, HasSubstr("only wheels for CUDA 12 and 13"));
  EXPECT_THAT(JudgeTorch("2.15.0+cpu|None").text, HasSubstr("without CUDA"));
  EXPECT_EQ(JudgeTorch("").health, Health::kWarning);
}

TEST(DoctorTest, NamesWhatIsMissingAndHowToGetIt) {
  const testing::TemporaryDirectory empty;

  const auto findings =
      Examine({.binary_directory = empty / "bin",
               .data_directory = empty / "data/below",
               .target = {.server = "http://127.0.0.1:1", .socket = "", .token = ""}});

  const std::string text = FormatFindings(findings);
  EXPECT_TRUE(HasBadFinding(findings));
  EXPECT_THAT(text, HasSubstr("FAIL agent"));
  EXPECT_THAT(text, HasSubstr("libeidolon_shim.so is missing; build targets eidolon_shim"));
  EXPECT_THAT(text, HasSubstr("the port is free for 'eidolon up'"));
  EXPECT_THAT(text, HasSubstr("ok   data folder"));
}

}  // namespace
}  // namespace eidolon::cli
