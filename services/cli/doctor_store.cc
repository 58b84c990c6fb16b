#include "services/cli/doctor_store.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli {

using controller::store::StoreFinding;

namespace {

std::string MarkOf(StoreFinding::State state) {
  switch (state) {
    case StoreFinding::State::kGood:
      return "ok";
    case StoreFinding::State::kNote:
      return "note";
    case StoreFinding::State::kRepaired:
      return "fixed";
    case StoreFinding::State::kDamaged:
      break;
  }
  return "DAMAGED";
}

std::string Padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace

std::string FormatStoreFindings(const std::vector<StoreFinding>& findings) {
  // Names in damaged records may hold anything.
  const auto subject_of = [](const StoreFinding& finding) {
    return controller::shown::ToPrintableLine(finding.subject);
  };
  std::size_t width = 0;
  for (const StoreFinding& finding : findings) {
    width = std::max(width, std::min<std::size_t>(subject_of(finding).size(), 40));
  }
  std::string text;
  for (const StoreFinding& finding : findings) {
    text += base::StrCat(Padded(MarkOf(finding.state), 9), Padded(subject_of(finding), width), "  ",
                         controller::shown::ToPrintableLine(finding.text), "\n");
  }
  return text;
}

bool HasDamage(const std::vector<StoreFinding>& findings) {
  return std::ranges::any_of(findings, [](const StoreFinding& finding) {
    return finding.state == StoreFinding::State::kDamaged;
  });
}

}  // namespace eidolon::cli
