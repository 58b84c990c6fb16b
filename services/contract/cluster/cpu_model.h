// Processors of servers: how fast they run the host code of a training framework. What the program
// does between two CUDA calls is measured on the machine that simulates and scaled to these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eidolon::cluster {

struct CpuModel {
  std::string_view name;
  // Single-thread speed on branchy, cache-missing code, relative to a Xeon Platinum 8480C (the
  // reference of services/base/host_speed): the highest single-core frequency times what the core
  // does in a cycle.
  double speed = 1.0;
  double relative_error = 0;  // Of the speed, one deviation.
};

// Name in a document for a processor that is not known.
inline constexpr std::string_view kUnknownCpu = "unknown";
// One deviation of the speed of a host of which only the GPU is known: that of the logarithms of
// what three measured hosts reached of their processors' speed (docs/host_time.md).
inline constexpr double kUnknownCpuError = 0.33;

// Null for a name that is not known.
const CpuModel* FindCpuModel(std::string_view name);
std::vector<std::string> CpuModelNames();
// The processor that servers with this GPU usually have, by its vendor's reference design.
std::string_view UsualCpuOf(std::string_view gpu);

}  // namespace eidolon::cluster
