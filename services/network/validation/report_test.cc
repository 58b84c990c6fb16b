#include "services/network/validation/report.h"
#include "source_tree.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace eidolon::network::validation {
namespace {

class ReportTest : public testing::Test {
 protected:
  std::vector<LogSet> sets_ = *ParseLogSets(PublishedLogs());
  std::vector<SetErrors> errors_ = Evaluate(sets_);

  const SetErrors& Of(const std::string& name) const {
    for (const SetErrors& each : errors_) {
      if (each.set->name == name) return each;
    }
    ADD_FAILURE() << "no log " << name;
    return errors_.front();
  }
};

TEST_F(ReportTest, HeldOutInfinibandLogsMeetTheTargets) {
  const auto held_out = HeldOutInfiniband(errors_);

  ASSERT_GT(held_out[1].points, 0);
  ASSERT_GT(held_out[2].points, 80);
  EXPECT_LE(held_out[1].Mean(), 0.15);
  EXPECT_LE(held_out[2].Mean(), 0.05);
}

TEST_F(ReportTest, SmallMessagesMeetTheTargetWithTheirLogLeftOut) {
  const auto left_out = LeftOutInfiniband(errors_);

  ASSERT_GT(left_out[0].points, 20);
  EXPECT_LE(left_out[0].Mean(), 0.10);
}

TEST_F(ReportTest, HeldOutServersMeetTheTarget) {
  for (const ErrorSum& band : HeldOutServers(errors_)) {
    ASSERT_GT(band.points, 100);
    EXPECT_LE(band.Mean(), 0.08);
  }
}

TEST_F(ReportTest, SendAndReceiveInsideAServerIsWithinTenPercentAtEverySize) {
  for (const char* name : {"xxrjun-1x8-send_recv", "xxrjun-1x4-send_recv"}) {
    const LogSet& set = *Of(name).set;
    const auto shape = ShapeOf(set);
    for (const Point& point : set.points) {
      EXPECT_LE(std::fabs(ModelledUs(set, shape, point.bytes) / point.us - 1), 0.10)
          << name << " " << point.bytes;
    }
  }
}

TEST_F(ReportTest, TheCommittedReportIsCurrent) {
  std::ifstream file(EIDOLON_SOURCE_DIR "/docs/reference/generated/network_validation.md");
  std::ostringstream text;
  text << file.rdbuf();

  EXPECT_NE(text.str().find(FormatSummary(errors_)), std::string::npos)
      << "run: eidolon net validate, and put its output into the page";
}

TEST_F(ReportTest, ADigestChangesWithAnyRow) {
  const auto before = DigestOfRows(errors_);

  sets_.back().points.back().us *= 1.01;

  EXPECT_NE(DigestOfRows(Evaluate(sets_)), before);
}

TEST_F(ReportTest, RowsListEveryLogAndEverySize) {
  const std::string text = FormatRows(errors_);

  EXPECT_NE(text.find("| hgx-2x8 | all_reduce | 2 x 8 | H100, infiniband | fit | 0.6 (-0.2) |"),
            std::string::npos);
  EXPECT_NE(text.find("\n### hgx-2x8\n"), std::string::npos);
  EXPECT_NE(text.find("| 8 | 24.7 | 0.0 | 24.8 | +0.3 | 25.2 | tree ll x1 |"), std::string::npos);
}

TEST(BandTest, BandsEndAt64KibAnd16Mib) {
  EXPECT_EQ(BandOf(65536), 0);
  EXPECT_EQ(BandOf(65537), 1);
  EXPECT_EQ(BandOf(16 << 20), 1);
  EXPECT_EQ(BandOf((16 << 20) + 1), 2);
}

}  // namespace
}  // namespace eidolon::network::validation
