// A job's document as people read it: the report, the table of jobs, the progress line. Missing
// fields are left out; a document of another version never fails.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace eidolon::cli {

// status.phase; empty when there is none.
std::string PhaseOf(const nlohmann::json& job);

// Several lines: verdict, iteration time with its band, throughput, where time goes, memory,
// coverage, cost of the simulation.
std::string FormatReport(const nlohmann::json& job);

// A header and a line per job.
std::string FormatTable(const std::vector<nlohmann::json>& jobs);

// "llama  iteration 4 of 8  [=====     ]  50 %  41 s left  virtual 9.8 s"
std::string FormatProgress(const nlohmann::json& job);

// "2.431 s", "12.30 ms", "840.0 us": four digits.
std::string FormatSeconds(double seconds);
// "41 s", "3 min 20 s", "2 h 5 min".
std::string FormatSpan(double seconds);
// 53916 as "53 916".
std::string FormatCount(double count);

}  // namespace eidolon::cli
