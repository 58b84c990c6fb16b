#include "services/cli/figure_trace_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using nlohmann::json;
using ::testing::ElementsAre;

constexpr std::size_t kLabelColumns = 19;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsAlphabetic(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool IsPartOfWord(char c) { return IsDigit(c) || IsAlphabetic(c) || c == '_' || c == '.'; }

// Whether a number may begin there: "80GB" of "H100-SXM5-80GB" is none, "3" of "cufftExec x3" is.
bool MayBeginNumber(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  if (text.substr(0, at).ends_with(" x")) return true;
  const bool is_joined = text[at - 1] == '-' && at > 1 && IsPartOfWord(text[at - 2]);
  return !is_joined && !IsPartOfWord(text[at - 1]);
}

// The end of the number that begins at `at`: digits in groups of three, a fraction, an exponent,
// and what is written without a space behind it.
std::size_t EndOfNumber(std::string_view text, std::size_t at) {
  const auto digits = [&](std::size_t from) {
    while (from < text.size() && IsDigit(text[from])) ++from;
    return from;
  };
  std::size_t end = digits(at);
  if (end - at <= 3) {
    while (end + 3 < text.size() && text[end] == ' ' && digits(end + 1) == end + 4) end += 4;
  }
  while (end < text.size()) {
    if (IsPartOfWord(text[end]) && text[end] != '.') {
      ++end;
    } else if (end + 1 < text.size() && std::string_view(".:-/+").contains(text[end]) &&
               IsDigit(text[end + 1])) {
      ++end;
    } else {
      break;
    }
  }
  return end;
}

// "GiB" of " GiB on rank": the unit behind a number, with its space; empty without one.
std::string_view UnitAt(std::string_view text, std::size_t at) {
  static constexpr std::string_view kUnits[] = {
      "%",   "ps",  "ns",  "us",      "ms",    "s",        "min",    "h", "B",
      "KiB", "MiB", "GiB", "TFLOP/s", "TFLOP", "tokens/s", "Gbit/s", "x", "TiB"};
  if (at >= text.size() || text[at] != ' ') return {};
  std::size_t end = at + 1;
  while (end < text.size() && (IsAlphabetic(text[end]) || text[end] == '%' || text[end] == '/'))
    ++end;
  const std::string_view unit = text.substr(at + 1, end - at - 1);
  const bool is_known = std::ranges::find(kUnits, unit) != std::end(kUnits);
  return is_known ? text.substr(at, end - at) : std::string_view{};
}

// A figure, or the word between two figures.
struct Word {
  std::string text;
  bool is_figure = false;
  std::string where;
  std::size_t line = 0;
  bool joined = false;  // To the word before, by one space.
  std::string Kind() const { return is_figure ? "#" : text; }
};

void SplitLine(std::string_view line, const std::string& where, std::size_t number,
               std::vector<Word>* words) {
  std::size_t spaces = 2;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ') {
      ++spaces;
      ++at;
      continue;
    }
    const bool has_sign = (line[at] == '-' || line[at] == '+') && at + 1 < line.size();
    const std::size_t first = has_sign ? at + 1 : at;
    std::size_t end = at + 1;
    const bool is_figure = MayBeginNumber(line, at) && IsDigit(line[first]);
    if (is_figure) {
      end = EndOfNumber(line, first);
      end += UnitAt(line, end).size();
    } else {
      // The word goes on to the next space, or to where a figure may begin.
      while (end < line.size() && line[end] != ' ' &&
             !(IsDigit(line[end]) && MayBeginNumber(line, end))) {
        ++end;
      }
    }
    words->push_back(
        {std::string(line.substr(at, end - at)), is_figure, where, number, spaces == 1});
    spaces = 0;
    at = end;
  }
}

std::vector<Word> SplitText(const std::string& text) {
  std::vector<Word> words;
  std::string where = "head";
  std::size_t number = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    ++number;
    std::string_view rest = line;
    if (line.size() > kLabelColumns && line.starts_with("  ") &&
        line.substr(kLabelColumns - 1, 1) == " ") {
      std::string_view label = line.substr(0, kLabelColumns);
      while (label.starts_with(' ')) label.remove_prefix(1);
      while (label.ends_with(' ')) label.remove_suffix(1);
      if (!label.empty() && !label.contains("  ")) {
        where = label;
        rest = line.substr(kLabelColumns);
      }
    }
    SplitLine(rest, where, number, &words);
  }
  return words;
}

// A share drawn by blocks is a figure: how many they are.
std::string CountBlocks(const std::string& text) {
  constexpr std::string_view kBlock = "█";
  std::string counted;
  for (std::size_t at = 0; at < text.size();) {
    int blocks = 0;
    for (; std::string_view(text).substr(at).starts_with(kBlock); at += kBlock.size()) ++blocks;
    if (blocks > 0) {
      counted += StrCat(blocks, " blocks");
    } else {
      counted += text[at++];
    }
  }
  return counted;
}

// Each value of a document, and each list of it.
struct Leaf {
  json::json_pointer at;
  std::string path;  // With [] for every index.
};

void FindLeaves(const json& value, const Leaf& leaf, std::vector<Leaf>* leaves) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      FindLeaves(child, {leaf.at / key, leaf.path.empty() ? key : leaf.path + "." + key}, leaves);
    }
    return;
  }
  leaves->push_back(leaf);
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    FindLeaves(value[i], {leaf.at / i, leaf.path + "[]"}, leaves);
  }
}

// Another value: a fifth more, other digits in a text, a list longer by one. False: there is none.
bool Change(json* value) {
  if (value->is_number_float()) {
    *value = value->get<double>() * 1.2 + (*value == 0.0 ? 0.2 : 0);
  } else if (value->is_number()) {
    const auto whole = value->get<std::int64_t>();
    *value = whole + std::max<std::int64_t>(1, whole / 5);
  } else if (value->is_string()) {
    std::string text = value->get<std::string>();
    for (char& c : text) {
      if (IsDigit(c)) c = c == '9' ? '1' : static_cast<char>(c + 1);
    }
    if (*value == text) return false;
    *value = text;
  } else if (value->is_array() && !value->empty()) {
    value->push_back(value->back());
  } else {
    return false;
  }
  return true;
}

bool HaveSameWords(const std::vector<Word>& before, const std::vector<Word>& after) {
  return std::ranges::equal(before, after, {}, &Word::Kind, &Word::Kind);
}

// Positions of figures of `before` whose counterparts in `after` are others, by the longest common
// sequence of words.
std::vector<std::size_t> ChangedFigures(const std::vector<Word>& before,
                                        const std::vector<Word>& after) {
  const std::size_t columns = after.size() + 1;
  std::vector<std::uint32_t> common((before.size() + 1) * columns, 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return common[i * columns + j];
  };
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      at(i, j) = before[i].Kind() == after[j].Kind() ? at(i + 1, j + 1) + 1
                                                     : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::vector<std::size_t> changed;
  for (std::size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    if (before[i].Kind() == after[j].Kind()) {
      if (before[i].is_figure && before[i].text != after[j].text) changed.push_back(i);
      ++i;
      ++j;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return changed;
}

TracedFigure Describe(const std::vector<Word>& words, std::size_t at) {
  const Word& figure = words[at];
  TracedFigure traced{.where = figure.where, .shown = figure.text, .pattern = "#", .fields = {}};
  const auto is_beside = [&](std::size_t other) {
    return words[other].line == figure.line && !words[other].is_figure;
  };
  if (at > 0 && figure.joined && is_beside(at - 1)) {
    traced.shown.insert(0, words[at - 1].text + " ");
    traced.pattern.insert(0, words[at - 1].text + " ");
  }
  if (at + 1 < words.size() && words[at + 1].joined && is_beside(at + 1)) {
    traced.shown += " " + words[at + 1].text;
    traced.pattern += " " + words[at + 1].text;
  }
  return traced;
}

}  // namespace

std::vector<TracedFigure> TraceFigures(const json& document, const Renderer& render) {
  const auto words_of = [&](const json& of) { return SplitText(CountBlocks(render(of))); };
  const std::vector<Word> words = words_of(document);
  std::vector<std::set<std::string>> exact(words.size());
  std::vector<std::set<std::string>> other(words.size());
  std::vector<Leaf> leaves;
  FindLeaves(document, {json::json_pointer(), ""}, &leaves);
  for (const Leaf& leaf : leaves) {
    json changed = document;
    json& value = changed[leaf.at];
    const bool is_list = value.is_array();
    if (!Change(&value)) continue;
    const std::vector<Word> after = words_of(changed);
    // Where the words stay, it is certain which figures have changed.
    if (!is_list && HaveSameWords(words, after)) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].text != after[i].text) exact[i].insert(leaf.path);
      }
      continue;
    }
    const std::string path = is_list ? StrCat("number of ", leaf.path, "[]") : leaf.path;
    for (const std::size_t i : ChangedFigures(words, after)) other[i].insert(path);
  }
  std::vector<TracedFigure> figures;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_figure) continue;
    figures.push_back(Describe(words, i));
    figures.back().fields = exact[i].empty() ? other[i] : exact[i];
  }
  return figures;
}

namespace {

json TracedDocument() {
  return json::parse(R"({"time": 1.5, "odd": 3, "list": [1, 2], "text": "at f.py:40"})");
}

TEST(FigureTraceTest, NamesTheFieldsOfEachFigureAndNoneForWhatIsMadeUp) {
  const auto figures = TraceFigures(TracedDocument(), [](const json& document) {
    const double time = document["time"];
    return StrCat("  first            ", time, " s, twice ", 2 * time, "   of ",
                  document["list"].size(), "\n                   99.5 % ",
                  document["text"].get<std::string>(), document["odd"] == 3 ? "" : ", odd", "\n");
  });

  ASSERT_EQ(figures.size(), 5u);
  EXPECT_EQ(figures[0].where, "first");
  EXPECT_EQ(figures[1].shown, "twice 3");
  EXPECT_EQ(figures[1].pattern, "twice #");
  EXPECT_THAT(figures[0].fields, ElementsAre("time"));
  EXPECT_THAT(figures[1].fields, ElementsAre("time"));
  EXPECT_THAT(figures[2].fields, ElementsAre("number of list[]"));
  EXPECT_EQ(figures[3].where, "first");
  EXPECT_THAT(figures[3].fields, ElementsAre());
  EXPECT_THAT(figures[4].fields, ElementsAre("text"));
}

}  // namespace
}  // namespace eidolon::cli
