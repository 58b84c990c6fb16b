// Which versions of others' libraries this program is made of, as they say it themselves.
#pragma once

#include <string>
#include <vector>

namespace eidolon::cli {

struct LinkedLibrary {
  std::string name;
  std::string version;  // Empty where the library has no number that it could say.
};

// In the order of linked_libraries.inc, which the bill of materials of a wheel is made from too.
std::vector<LinkedLibrary> LinkedLibraries();

// What --version --verbose prints: the version of Eidolon, then a line for each library.
std::string DescribeVersions(const std::string& own);

}  // namespace eidolon::cli
