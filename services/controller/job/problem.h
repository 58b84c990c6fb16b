// Problems of a document: one per wrong field, for people to fix it. The same list goes into the
// answer of the HTTP face and to the terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace eidolon::controller::job {

struct Problem {
  std::string pointer;  // JSON pointer (RFC 6901) to the field; empty: the whole document.
  std::string detail;   // What is wrong, what is allowed.

  bool operator==(const Problem&) const = default;
};

using Problems = std::vector<Problem>;

// One line per problem: "/spec/servers: must be ...".
std::string Describe(std::span<const Problem> problems);

}  // namespace eidolon::controller::job
