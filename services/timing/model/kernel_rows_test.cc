#include "services/timing/model/kernel_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace eidolon::timing::model {
namespace {

constexpr const char* kText =
    "eidolon-kernel-rows 1\n"
    "gpu G\n"
    "family attention\n"
    "roof 3350 794500 1980\n"
    "source somewhere\n"
    "table prefill s-1:k bf16 bf16 128 0\n"
    "last 1 16 32\n"
    "32 8 1:2000 - 12\n"
    "4 4 2:1900\n";

double Microseconds(const KernelTable& table, std::size_t i) {
  return std::exp(static_cast<double>(table.log_seconds[i])) * 1e6;
}

TEST(KernelRowsTest, ReadsTimesAsDifferencesOfSteps) {
  const KernelRows rows = *ParseKernelRows(kText);

  EXPECT_EQ(rows.gpu, "G");
  EXPECT_EQ(rows.family, "attention");
  EXPECT_DOUBLE_EQ(rows.bandwidth, 3350e9);
  EXPECT_DOUBLE_EQ(rows.rate, 794500e9);
  ASSERT_EQ(rows.tables.size(), 1u);
  const KernelTable& table = rows.tables[0];
  EXPECT_EQ(table.name, "prefill s-1:k bf16 bf16 128 0");
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table.columns, 4u);
  EXPECT_EQ(table.Shape(1)[0], 32);
  EXPECT_EQ(table.Shape(1)[3], 32);
  EXPECT_EQ(table.Shape(2)[2], 2);
  EXPECT_NEAR(Microseconds(table, 0), std::exp(10) / 1000, 0.01);
  EXPECT_NEAR(Microseconds(table, 1) / Microseconds(table, 0), std::exp(0.06), 1e-4);
}

TEST(KernelRowsTest, RefusesWhatItDoesNotUnderstandAndNamesTheLine) {
  const std::string text = kText;
  const auto with = [&](const char* from, const char* to) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string(from).size(), to);
    const auto rows = ParseKernelRows(changed);
    return rows ? "understood" : rows.error().message;
  };

  EXPECT_NE(with("rows 1", "rows 2").find("eidolon-kernel-rows 1"), std::string::npos);
  EXPECT_NE(with("- 12", "- 12 3").find("line 8"), std::string::npos);
  EXPECT_NE(with("- 12", "- x").find("line 8"), std::string::npos);
  EXPECT_NE(with("4 4 2:", "4 2:").find("line 9"), std::string::npos);
  EXPECT_NE(with("4 4 2:", "4 0 2:").find("line 9"), std::string::npos);
  EXPECT_NE(with("2000", "20000").find("line 8"), std::string::npos);
  EXPECT_NE(with("roof 3350", "roof -1").find("line 4"), std::string::npos);
  EXPECT_NE(with("gpu G\n", "gpu\n").find("line 2"), std::string::npos);
}

TEST(KernelRowsTest, RefusesATableWithoutTimes) {
  EXPECT_FALSE(ParseKernelRows(std::string(kText) + "table decode s-1:k bf16 bf16 128 0\n"));
  EXPECT_FALSE(ParseKernelRows("eidolon-kernel-rows 1\n"));
  EXPECT_FALSE(ParseKernelRows(""));
}

}  // namespace
}  // namespace eidolon::timing::model
