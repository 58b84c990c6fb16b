// Surrounds one object of a session in its test: a segment, an engine, reply slots, and a server
// that notes what is reported to it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/device/engine.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/session/fake_host.h"
#include "services/agent/session/replies.h"

namespace eidolon::agent::session {

class NotingHost final : public FakeHost {
 public:
  void SendToNetwork(network::v1::SessionRequest request) override { sent.push_back(request); }
  base::SimTime safe_through() const override { return safe; }
  std::int64_t now_ns() const override { return now; }

  std::vector<network::v1::SessionRequest> sent;
  base::SimTime safe;
  std::int64_t now = 0;
};

// Process 1 with one GPU.
class PartsFixture : public ::testing::Test, protected device::Sink {
 protected:
  using Slot = ::eidolon::ring::ReplySlot;

  PartsFixture()
      : segment_(*ring::Segment::Create({.devices = {{}}}, 1, 0)),
        writer_(segment_.base()),
        engine_({{.launch_latency = {}, .launch_gap = {}, .callback_cost = {}}}, this),
        replies_(1, &host_, &engine_, &intake_, &segment_) {
    host_.horizon().AddRank(1, {});
    host_.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
  }

  // A record as the reader would return it, valid until the next call.
  template <typename T>
  ring::RecordView View(::eidolon::ring::RecordKind kind, T record, std::string_view tail = {}) {
    bytes_.assign(sizeof(T) + tail.size(), std::byte{0});
    record.header.kind = kind;
    record.header.bytes = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &record, sizeof(T));
    if (!tail.empty()) std::memcpy(bytes_.data() + sizeof(T), tail.data(), tail.size());
    return {.bytes = bytes_};
  }
  // Collective `token` of communicator 5 in the default stream.
  void IssueCollective(std::uint64_t token) {
    ASSERT_TRUE(engine_.Issue({}, {.communicator = 5, .token = token}).has_value());
  }
  const Slot& SlotOf(std::uint32_t slot) { return writer_.SlotOf(slot); }

  void OpResolved(const device::ResolvedOp&) override {}
  void CollectiveReady(std::uint64_t, base::SimTime) override {}
  void WaitEnded(std::uint64_t ticket, base::SimTime time) override {
    ended_.emplace_back(ticket, time);
  }

  NotingHost host_;
  ring::Segment segment_;
  ring::FakeWriter writer_;
  Intake intake_;
  device::Engine engine_;
  Replies replies_;
  std::vector<std::pair<std::uint64_t, base::SimTime>> ended_;
  std::vector<std::byte> bytes_;
};

}  // namespace eidolon::agent::session
