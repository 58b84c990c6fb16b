// Reads documents that another version may have written: what is missing, or of another type, reads
// as nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::controller::shown {

using Path = std::initializer_list<const char*>;

// The value at a path of keys, or null.
const nlohmann::json& At(const nlohmann::json& tree, Path path);
// 0 when there is none.
double NumberAt(const nlohmann::json& tree, Path path);
// A whole number of something, at least 0.
std::int64_t CountAt(const nlohmann::json& tree, Path path);
// The same number of bytes for people, "1.5 GiB".
std::string BytesAt(const nlohmann::json& tree, Path path);
std::string TextAt(const nlohmann::json& tree, Path path);

// status.phase; empty when there is none.
std::string PhaseOf(const nlohmann::json& job);
// The same of a job or a sweep for people: "Suspended" of one that waits for its user.
std::string ShownPhaseOf(const nlohmann::json& object);

// The condition of a job that says how things stand: the last one that is true, of a job that has
// not started what it waits for, or an empty object.
const nlohmann::json& StandingCondition(const nlohmann::json& job);

// The time that a prediction is known by, and its 90 % band: of the iteration that repeats, where
// some are measured, else of the whole program. Documents of earlier versions have no steady one.
struct Headline {
  bool is_iteration = false;
  double seconds = 0;  // 0: nothing is predicted.
  double low = 0;
  double high = 0;
};
Headline HeadlineOf(const nlohmann::json& prediction);

// Returns at most so many bytes of a UTF-8 text, cut between characters.
std::string Beginning(const std::string& text, std::size_t bytes);

}  // namespace eidolon::controller::shown
