// Records what a job reported and started, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "services/network/communicator/job.h"

namespace eidolon::network::communicator {

// Records what is told and runs transfers on a fabric of their own.
class Recorder final : public Audience {
 public:
  void Tell(std::uint64_t, std::uint32_t server, Notice notice) override {
    told[server].push_back(std::move(notice));
  }
  void Start(flow::Transfer transfer) override { started.push_back(std::move(transfer)); }
  void Ended(collective::Algorithm, collective::Protocol) override {}
  void MissedForeseenEnd() override {}
  void Cancel(std::uint64_t, std::uint64_t communicator) override {
    cancelled.push_back(communicator);
  }

  template <typename T>
  std::vector<T> All(std::uint32_t server) {
    std::vector<T> all;
    for (const Notice& notice : told[server]) {
      if (const T* match = std::get_if<T>(&notice)) all.push_back(*match);
    }
    return all;
  }

  std::map<std::uint32_t, std::vector<Notice>> told;
  std::vector<flow::Transfer> started;
  std::vector<std::uint64_t> cancelled;
};

}  // namespace eidolon::network::communicator
