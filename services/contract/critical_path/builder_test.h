// Builds traces for tests, in picoseconds. The launch gap is 2, and a call comes 3 before the start
// that it leads to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/contract/critical_path/trace.h"

namespace eidolon::critical_path {

struct Times {
  std::int64_t start = 0;
  std::int64_t finish = 0;
};

class RankBuilder {
 public:
  RankBuilder(std::int32_t rank, Times iteration) {
    trace_.rank = rank;
    trace_.iteration = 2;
    trace_.start = {iteration.start};
    trace_.finish = {iteration.finish};
    trace_.launch_gaps = {{2}};
  }

  // The host's work from `begin` on, until a call at `end`.
  RankBuilder& Call(Times times, const std::string& name = "cudaLaunchKernel") {
    return AddEvent(times, name, HostEventKind::kCall);
  }
  RankBuilder& Wait(Times times) {
    return AddEvent(times, "cudaStreamSynchronize", HostEventKind::kWait);
  }
  RankBuilder& Sleep(Times times) { return AddEvent(times, "sleep", HostEventKind::kSleep); }

  // Adds a kernel of the last call. Its number, for After.
  std::uint32_t Kernel(Times times, std::uint32_t released_by = kHostCall) {
    return Add(OperationKind::kKernel, "gemm", {times.start, times}, released_by);
  }
  std::uint32_t Copy(Times times, std::uint32_t released_by = kHostCall) {
    return Add(OperationKind::kCopy, "memcpy", {times.start, times}, released_by);
  }
  // The rank is ready at `ready`.
  struct Ready {
    std::int64_t ready = 0;
    Times times;
  };
  std::uint32_t Collective(const Ready& when, std::uint64_t call,
                           std::uint32_t released_by = kHostCall) {
    const std::uint32_t place =
        Add(OperationKind::kCommunication, "ncclAllReduce", when, released_by);
    trace_.communication.push_back(
        {.communicator = 1, .call = call, .operation = place - 1, .member = trace_.rank});
    return place;
  }
  struct Message {
    std::int32_t peer = 0;
    bool is_send = false;
  };
  std::uint32_t Group(const Ready& when, const std::vector<Message>& messages,
                      std::uint32_t released_by = kHostCall) {
    const std::uint32_t place =
        Add(OperationKind::kCommunication, "ncclSend, ncclRecv", when, released_by);
    trace_.communication.push_back(
        {.communicator = 1,
         .call = 0,
         .operation = place - 1,
         .member = trace_.rank,
         .first_transfer = static_cast<std::uint32_t>(trace_.transfers.size()),
         .transfers = static_cast<std::uint32_t>(messages.size())});
    for (const Message& message : messages) {
      trace_.transfers.push_back(
          {.sequence = 0, .peer = message.peer, .is_send = message.is_send ? 1u : 0u});
    }
    return place;
  }

  // Sets what the last communication spent its time on.
  RankBuilder& Links(const std::vector<LinkTime>& links) {
    trace_.communication.back().first_link = static_cast<std::uint32_t>(trace_.links.size());
    trace_.communication.back().links = static_cast<std::uint32_t>(links.size());
    trace_.links.insert(trace_.links.end(), links.begin(), links.end());
    return *this;
  }

  RankTrace& trace() { return trace_; }

 private:
  std::uint32_t NameOf(const std::string& name) {
    trace_.names.push_back(name);
    return static_cast<std::uint32_t>(trace_.names.size() - 1);
  }
  RankBuilder& AddEvent(Times times, const std::string& name, HostEventKind kind) {
    trace_.host_events.push_back(
        {.begin = {times.start}, .end = {times.finish}, .name = NameOf(name), .kind = kind});
    return *this;
  }
  std::uint32_t Add(OperationKind kind, const std::string& name, const Ready& when,
                    std::uint32_t released_by) {
    trace_.operations.push_back({.ready = {when.ready},
                                 .start = {when.times.start},
                                 .finish = {when.times.finish},
                                 .name = NameOf(name),
                                 .released_by = released_by,
                                 .call = static_cast<std::uint32_t>(trace_.host_events.size()),
                                 .kind = kind});
    return static_cast<std::uint32_t>(trace_.operations.size());
  }

  RankTrace trace_;
};

}  // namespace eidolon::critical_path
