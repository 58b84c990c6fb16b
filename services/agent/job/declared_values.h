// The values that a job declares, from its assignment to the file that ranks read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/base/error.h"
#include "services/contract/ring/declaration.h"

namespace eidolon::agent::job {

// Reads the files that they name; relative ones are of the job's working directory. An error names
// the declaration, the file and the line.
base::Result<std::vector<::eidolon::ring::Declaration>> DeclarationsOf(
    const controller::v1::Assignment& assignment);

// The shares of a file's text: a line for each call of the router, a number for each expert,
// separated by commas or spaces. Lines that begin with '#' are left out.
base::Result<std::vector<std::vector<std::uint32_t>>> ParseShares(const std::string& text,
                                                                  std::uint64_t experts);

// Zipf's law with the exponent; the seed decides which expert is the most popular, and so on.
std::vector<std::uint32_t> ZipfShares(std::uint64_t experts, double exponent, std::uint64_t seed);

// Writes them into the run directory, when there are any.
base::Result<void> WriteDeclarations(const controller::v1::Assignment& assignment);

}  // namespace eidolon::agent::job
