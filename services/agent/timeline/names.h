// Names operations and calls of a process for readers of its timeline and of its critical path.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "services/agent/cost/cost_cache.h"
#include "services/agent/timeline/recorder.h"

namespace eidolon::agent::timeline {

// "cudaStreamSynchronize".
std::string_view Name(HostCall call);
// "ncclAllReduce" for "COLLECTIVE_KIND_ALL_REDUCE", as the network service's protocol has it.
std::string CollectiveName(std::string_view kind);
// A kernel's name for people: demangled, without its parameters and "void".
std::string KernelName(const std::string& symbol);

// Makes each name once. References live as long as it does. Not thread safe.
class Names {
 public:
  // A work definition, as it is shown.
  struct Work {
    std::string name;      // The operator of PyTorch where it is known, else the function.
    std::string function;  // Of a kernel: demangled, without its parameters.
    std::string full;
    std::string grid;
    std::string block;
    std::string_view category;  // "kernel" or "copy".
    std::string_view call;      // Of the host.
  };
  // `plain` makes UTF-8 of what a program wrote. `costs` outlives it.
  Names(const cost::CostCache* costs, std::function<std::string(const std::string&)> plain)
      : costs_(costs), plain_(std::move(plain)) {}

  // Requires: the operation is work.
  const Work& WorkOf(const Operation& operation);
  // Returns the name of a number of the cost table: a collective's kind, a family.
  const std::string& NameOf(std::uint32_t number);

 private:
  const cost::CostCache* costs_;
  std::function<std::string(const std::string&)> plain_;
  std::map<std::uint32_t, Work> works_;         // By number of the cost entry.
  std::map<std::uint32_t, std::string> names_;  // By number of the cost table.
};

}  // namespace eidolon::agent::timeline
