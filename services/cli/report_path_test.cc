#include "services/cli/report_path.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli {
namespace {

using nlohmann::json;

json Prediction() {
  return json::parse(R"({"criticalPath": {
    "iteration": 4, "picoseconds": 172981206465, "segments": 1234, "rankChanges": 3,
    "ranksShown": 2, "operationsLeftOut": 0,
    "kinds": [{"kind": "kernels", "picoseconds": 160991608857, "share": 0.9307},
              {"kind": "communication", "picoseconds": 11989597608, "share": 0.0693}],
    "links": [{"link": "nic", "picoseconds": 10789597608, "share": 0.8999},
              {"link": "latency", "picoseconds": 1200000000, "share": 0.1001}],
    "namedLinks": [{"name": "NIC 3 of server 1, out", "link": "nic", "picoseconds": 7000000000,
                    "share": 0.5838},
                   {"name": "NIC 0 of server 0, in", "link": "nic", "picoseconds": 3789597608,
                    "share": 0.3161}],
    "ranks": [{"rank": 1, "picoseconds": 100000000000, "share": 0.5781},
              {"rank": 0, "picoseconds": 72981206465, "share": 0.4219}],
    "operations": [{"kind": "kernels", "name": "gemm 8192x8192x2048", "picoseconds": 1000,
                    "share": 0.512, "times": 96},
                   {"kind": "communication", "name": "ncclAllReduce", "picoseconds": 10,
                    "share": 0.0693, "times": 4}]}})");
}

TEST(ReportPathTest, TellsKindsRanksAndWhatTakesMost) {
  EXPECT_EQ(FormatCriticalPath(Prediction()),
            "  critical path    kernels 93.07 %   communication 6.93 %\n"
            "                   communication by link: nic 89.99 %   latency 10.01 %\n"
            "                   most of it on NIC 3 of server 1, out 58.38 %   NIC 0 of server 0, "
            "in 31.61 %\n"
            "                   iteration 4: 172 981 206 465 ps in 1 234 parts, 3 changes of rank "
            "among 2\n"
            "                   rank 1 57.81 %   rank 0 42.19 %\n"
            "                    51.20 %  kernels: gemm 8192x8192x2048   96 x\n"
            "                     6.93 %  communication: ncclAllReduce   4 x\n");
}

TEST(ReportPathTest, NamesWhatIsMissing) {
  json prediction = Prediction();
  prediction["criticalPath"].erase("iteration");
  prediction["criticalPath"]["operationsLeftOut"] = 7000;

  const std::string text = FormatCriticalPath(prediction);

  EXPECT_NE(text.find("the whole program: "), std::string::npos) << text;
  EXPECT_NE(text.find("; 7 000 operations were left out\n"), std::string::npos) << text;
}

TEST(ReportPathTest, IsEmptyWithoutAPath) {
  EXPECT_EQ(FormatCriticalPath(json::object()), "");
  EXPECT_EQ(FormatCriticalPath({{"criticalPath", 3}}), "");
}

}  // namespace
}  // namespace eidolon::cli
