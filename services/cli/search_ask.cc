// An answer is printed only when the row behind it is on the disk, and the next line is read only
// then, so that a tuner that was answered never has to ask again, whichever of the two is killed. A
// wrong line is answered as well: a tuner that proposes nonsense once should not lose its session.
#include "services/cli/search_ask.h"

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "services/controller/search/ask.h"
#include "services/controller/search/outcome.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using controller::search::MadePoint;
using controller::search::SearchSpec;
using controller::shown::TextAt;
using nlohmann::json;

// The point that was asked for; or the answer, where it cannot have a row.
struct Question {
  MadePoint made;
  json answer;  // Null: the point is a job.
};

Question QuestionOf(const SearchSpec& spec, const json& given) {
  Question question;
  auto made = controller::search::FindPoint(spec, given);
  if (!made) {
    question.answer = controller::search::RefusedAnswerOf(made.error().message);
    return question;
  }
  question.made = std::move(*made);
  if (question.made.cut) {
    question.answer = controller::search::CutAnswerOf(spec, question.made);
  } else if (!question.made.point.problems.empty()) {
    question.answer =
        controller::search::AnswerOf(spec, controller::search::RefusedRowOf(question.made.point));
  }
  return question;
}

Result<json> AnswerTo(const SearchSpec& spec, const json& given, PointRows* rows) {
  const Question question = QuestionOf(spec, given);
  if (!question.answer.is_null()) return question.answer;
  auto row = rows->RowFor(question.made.point);
  if (!row) return std::unexpected(row.error());
  if (!row->is_null()) return controller::search::AnswerOf(spec, std::move(*row));
  return controller::search::AnswerWithout(question.made.point, controller::search::kNotTried,
                                           "the budget is spent");
}

Result<json> AnswerToResult(const SearchSpec& spec, const json& given, const json& result,
                            PointRows* rows) {
  const Question question = QuestionOf(spec, given);
  if (!question.answer.is_null()) return question.answer;
  auto row = controller::search::ToldRowOf(spec, question.made.point, result);
  if (!row) return controller::search::RefusedAnswerOf(row.error().message);
  if (auto kept = rows->Keep(*row); !kept) return std::unexpected(kept.error());
  return controller::search::AnswerOf(spec, std::move(*row));
}

// Calls `answer` for each line, and prints what it returns. `is_good`: of the verdict.
Result<int> AnswerLines(std::istream& in, std::ostream& out,
                        const std::function<Result<json>(const json&)>& answer,
                        const std::function<bool(std::string_view)>& is_good) {
  int status = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const json given = json::parse(line, nullptr, /*allow_exceptions=*/false);
    Result<json> answered = given.is_discarded()
                                ? controller::search::RefusedAnswerOf("the line is no JSON")
                                : answer(given);
    if (!answered) return std::unexpected(answered.error());
    if (!is_good(TextAt(*answered, {"verdict"}))) status = kNoValue;
    out << answered->dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    if (!out) return Fail(ErrorCode::kUnavailable, "cannot write answers to standard output");
  }
  return status;
}

bool IsPredicted(std::string_view verdict) { return verdict == controller::search::kPredicted; }

bool IsTaken(std::string_view verdict) {
  return verdict != controller::search::kRefused && verdict != controller::search::kCut;
}

}  // namespace

Result<int> AnswerPoints(const SearchSpec& spec, const AskFlags& flags, std::istream& in,
                         std::ostream& out, PointRows* rows) {
  const auto answer = [&](const json& given) { return AnswerTo(spec, given, rows); };
  if (flags.lines) return AnswerLines(in, out, answer, IsPredicted);
  const auto given = controller::search::PointOfWords(spec, flags.point);
  if (!given) return std::unexpected(given.error());
  std::istringstream line(given->dump());
  return AnswerLines(line, out, answer, IsPredicted);
}

Result<int> TakeResults(const SearchSpec& spec, const AskFlags& flags, std::istream& in,
                        std::ostream& out, PointRows* rows) {
  const auto answer = [&](const json& line) -> Result<json> {
    if (!line.is_object() || !line.contains("point")) {
      return controller::search::RefusedAnswerOf(
          "a line is {\"point\": {...}, ...} with fields of a report");
    }
    json result = line;
    result.erase("point");
    return AnswerToResult(spec, line["point"], result, rows);
  };
  if (flags.lines) return AnswerLines(in, out, answer, IsTaken);
  const auto given = controller::search::PointOfWords(spec, flags.point);
  if (!given) return std::unexpected(given.error());
  json whole = json::parse(flags.result, nullptr, /*allow_exceptions=*/false);
  if (!whole.is_object()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--result must be an object of JSON, such as {\"iterationSeconds\": 1.7}");
  }
  whole["point"] = *given;
  std::istringstream line(whole.dump());
  return AnswerLines(line, out, answer, IsTaken);
}

}  // namespace eidolon::cli
