// A job's document as people read it: the report, the table of jobs, the progress line. Missing
// fields are left out; a document of another version never fails.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace eidolon::cli {

// Several lines: verdict, iteration time with its band, throughput, where time goes, memory,
// coverage, cost of the simulation.
std::string FormatReport(const nlohmann::json& job);

// A header and a line per job.
std::string FormatTable(const std::vector<nlohmann::json>& jobs);

// "llama  iteration 4 of 8  [=====     ]  50 %  41 s left  virtual 9.8 s". Before the first
// iteration ends, also how much was launched and which host reads and calls have no answer; when
// nothing moves, what is waited for.
std::string FormatProgress(const nlohmann::json& job);

}  // namespace eidolon::cli
