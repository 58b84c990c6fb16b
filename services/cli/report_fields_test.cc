// Each figure of the report is traceable to a field of the job's document:
// docs/reference/generated/report_fields.md says to which. EIDOLON_UPDATE_GOLDEN=1 rewrites that
// page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "services/base/text.h"
#include "services/cli/explain.h"
#include "services/cli/figure_trace_test.h"
#include "services/cli/report.h"
#include "services/cli/what_if.h"
#include "services/controller/rest/embedded.h"
#include "source_tree.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr char kJob[] = EIDOLON_SOURCE_DIR "/services/cli/testdata/report_job.json";
constexpr char kPage[] = EIDOLON_SOURCE_DIR "/docs/reference/generated/report_fields.md";

std::string TextOfFile(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A job with every field that a report shows, and what would help it. Its values lie where a fifth
// more shows in every rounded figure.
json JobWithEveryField() { return json::parse(TextOfFile(kJob)); }

// The same of a program without iterations, timed for the target's processor.
json ProgramWithEveryField() {
  json job = JobWithEveryField();
  json& prediction = job["status"]["prediction"];
  prediction["measuredIterations"] = 0;
  for (const char* name :
       {"iterationSeconds", "iterationPicoseconds", "unevenIterations", "steadyIteration",
        "throughput", "diagnosis", "extraWork", "tokensPerSecond", "modelFlopsUtilization"}) {
    prediction.erase(name);
  }
  prediction["criticalPath"].erase("iteration");
  prediction["hostTime"].erase("speedRatio");
  prediction["memory"].erase("allocations");
  prediction["program"] = {{"seconds", 1.25}, {"low", 1.1}, {"high", 1.4}, {"launches", 12345}};
  return job;
}

std::string ReportText(const json& job) {
  return FormatReport(job) + FormatWhatIfs(job["whatIfs"]);
}

// Numbers that no prediction changes: the level of the band, by the definition of `low` and
// `high`, and the example of a declared value.
std::string MeaningOf(const std::string& pattern, const std::string& shown) {
  if (shown.contains("90 %") && (pattern.contains("band") || pattern.contains("between"))) {
    return "the level of the band, by the definition of `low` and `high`";
  }
  if (shown == "value: 1") return "an example";
  return "";
}

struct FigureRow {
  std::string where;
  std::string shown;
  std::string source;
};

// One row for figures that differ in value only.
std::vector<FigureRow> RowsOf(const std::vector<json>& jobs, const Renderer& render) {
  std::vector<FigureRow> rows;
  std::set<std::string> known;
  for (const json& job : jobs) {
    for (const TracedFigure& figure : TraceFigures(job, render)) {
      std::string source = MeaningOf(figure.pattern, figure.shown);
      for (const std::string& field : figure.fields) {
        source += StrCat(source.empty() ? "" : ", ", "`", field, "`");
      }
      if (known.insert(StrCat(figure.where, "\n", figure.pattern, "\n", source)).second) {
        rows.push_back({figure.where, figure.shown, source});
      }
    }
  }
  return rows;
}

std::vector<FigureRow> TextRows() {
  return RowsOf({JobWithEveryField(), ProgramWithEveryField()}, ReportText);
}

std::string TableOf(const std::vector<FigureRow>& rows) {
  std::string table = "| where | figure, as an example | field |\n| --- | --- | --- |\n";
  for (const FigureRow& row : rows) {
    table += StrCat("| ", row.where, " | `", row.shown, "` | ", row.source, " |\n");
  }
  return table;
}

TEST(ReportFieldsTest, NoFigureIsWithoutAFieldOfTheDocument) {
  const std::vector<FigureRow> rows = TextRows();
  EXPECT_GT(rows.size(), 80u);
  for (const FigureRow& row : rows) {
    EXPECT_FALSE(row.source.empty())
        << "'" << row.shown << "' of '" << row.where << "' comes from no field:\n"
        << ReportText(JobWithEveryField());
  }
}

TEST(ReportFieldsTest, ThePageOfFieldsIsUpToDate) {
  const std::string page = TextOfFile(kPage);
  // The table of the page is e2e/page/test_page_fields.py's.
  const std::string begin = page.substr(0, page.find("\n## The text"));
  const std::string end = page.substr(std::min(page.size(), page.find("\n## The page")));
  const std::string made = StrCat(begin, "\n## The text\n\n", TableOf(TextRows()), end);
  if (std::getenv("EIDOLON_UPDATE_GOLDEN") != nullptr) std::ofstream(kPage) << made;
  EXPECT_EQ(made, TextOfFile(kPage)) << "EIDOLON_UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace eidolon::cli
