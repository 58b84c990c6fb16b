#include "services/network/validation/fit.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "services/network/collective/cost.h"
#include "source_tree.h"

namespace eidolon::network::validation {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(FitTest, TheCommittedTableIsTheOneFittedToTheLogs) {
  const auto sets = ParseLogSets(PublishedLogs());
  ASSERT_TRUE(sets.has_value());

  EXPECT_EQ(FormatTable(FitCurves(*sets)),
            Read(EIDOLON_SOURCE_DIR "/services/network/collective/correction_table.inc"))
      << "run: eidolon net validate --fit";
}

TEST(FitTest, ALogTwiceAsSlowAsTheTableGivesRatiosOfTwo) {
  LogSet set{.name = "slow",
             .site = "s",
             .transport = "nvlink",
             .gpu = "H100",
             .kind = collective::Kind::kAllGather,
             .nodes = 1,
             .members = 8,
             .nics = 8,
             .nic_gigabits_per_second = 400,
             .role = Role::kFit,
             .source = "made up",
             .points = {}};
  const collective::Shape shape = ShapeOf(set);
  for (std::uint64_t bytes = 1 << 20; bytes <= 64 << 20; bytes *= 4) {
    set.points.push_back({bytes, 2 * TabledUs(set, shape, bytes)});
  }

  const auto curves = FitCurves(std::vector{set});

  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].first_octave, 20u);
  ASSERT_EQ(curves[0].ratios.size(), 7u);
  for (float ratio : curves[0].ratios) EXPECT_NEAR(ratio, 2, 0.002);
}

// The only PCIe server in the logs: curves of every second size foretell the others.
TEST(FitTest, PcieReductionsFollowFromHalfOfTheirSizes) {
  auto sets = *ParseLogSets(PublishedLogs());
  std::vector<LogSet> kept;
  for (LogSet& set : sets) {
    if (set.transport != "pcie") continue;
    LogSet half = set;
    half.points.clear();
    for (std::size_t at = 0; at < set.points.size(); at += 2) half.points.push_back(set.points[at]);
    kept.push_back(half);
  }
  const auto fitted = FitCurves(kept);
  std::vector<collective::Curve> curves;
  for (const FittedCurve& curve : fitted) {
    curves.push_back({curve.key, curve.first_octave, curve.ratios});
  }
  int reductions = 0;
  for (const LogSet& set : sets) {
    if (set.transport != "pcie" || set.kind != collective::Kind::kAllReduce) continue;
    const collective::Shape shape = ShapeOf(set);
    EXPECT_FALSE(shape.nvlink);
    double absolute = 0;
    std::size_t left_out = 0;
    for (std::size_t at = 1; at < set.points.size(); at += 2) {
      const Point& point = set.points[at];
      const auto cost = collective::CostOf({.kind = set.kind, .bytes = point.bytes}, shape, curves);
      absolute += std::abs(cost.Total().Seconds() * 1e6 / point.us - 1);
      ++left_out;
    }
    EXPECT_GE(left_out, 10u);
    EXPECT_LE(absolute / static_cast<double>(left_out), 0.20) << set.name;
    ++reductions;
  }
  EXPECT_EQ(reductions, 3);
}

TEST(FitTest, HeldOutLogsGiveNoCurve) {
  auto sets = *ParseLogSets(PublishedLogs());
  for (LogSet& set : sets) set.role = Role::kTest;

  EXPECT_TRUE(FitCurves(sets).empty());
}

}  // namespace
}  // namespace eidolon::network::validation
