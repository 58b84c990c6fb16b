// Lists the versions of others' libraries in this program, as they report them.
#pragma once

#include <string>
#include <vector>

namespace eidolon::cli {

struct LinkedLibrary {
  std::string name;
  std::string version;  // Empty where the library has no number that it could say.
};

// Lists them in the order of linked_libraries.inc, which the bill of materials of a wheel is made
// from too.
std::vector<LinkedLibrary> LinkedLibraries();

// Returns what --version --verbose prints: the version of Eidolon, then a line for each library.
std::string DescribeVersions(const std::string& own);

}  // namespace eidolon::cli
