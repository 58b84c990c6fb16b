#include "services/controller/job/problem.h"

namespace eidolon::controller::job {

std::string Describe(std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += (problem.pointer.empty() ? "document" : problem.pointer) + ": " + problem.detail;
  }
  return text;
}

}  // namespace eidolon::controller::job
