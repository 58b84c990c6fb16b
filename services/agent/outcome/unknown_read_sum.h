// Unknown reads of all of a server's processes, as the controller hears of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/session/usage_ledger.h"

namespace eidolon::agent::outcome {

// This class is not thread-safe.
class UnknownReadSum {
 public:
  void Add(const session::SessionUsage& used);
  void Fill(controller::v1::Usage* usage) const;

 private:
  struct Amount {
    std::uint64_t reads = 0;
    std::uint64_t bytes = 0;
  };
  // Writer, pointer, line, value given, declaration.
  using Source = std::tuple<std::string, std::uint32_t, std::string, std::string, std::uint32_t>;

  std::uint64_t reads_ = 0;
  std::map<Source, Amount> sources_;
  std::set<std::uint32_t> declarations_;
};

}  // namespace eidolon::agent::outcome
