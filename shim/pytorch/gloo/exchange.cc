#include "shim/pytorch/gloo/exchange.h"

#include <string>
#include <vector>

#include "shim/pytorch/gloo/pytorch.h"

namespace eidolon::shim::gloo {
namespace {

// Gloo's own collectives number the messages of a call from a byte below 16 on, then the tag.
constexpr std::uint64_t kSlots = std::uint64_t{0x67} << 56;
constexpr int kTagShift = 24;

}  // namespace

ByRank Exchange(const Call& call, std::span<const Part> given, std::span<const Expected> expected) {
  static const auto create = Own<CreateBufferFunction>(kCreateBuffer);
  static const auto send = Own<SendFunction>(kSend);
  static const auto receive = Own<ReceiveFunction>(kReceive);
  static const auto wait_send = Own<WaitFunction>(kWaitSend);
  static const auto wait_receive = Own<WaitFunction>(kWaitReceive);
  const std::uint64_t slot = kSlots | std::uint64_t{call.tag} << kTagShift;

  ByRank received;  // Lives longer than the buffers, which end what is under way.
  std::vector<BufferPointer> in, out;
  for (const Expected& one : expected) {
    std::string& bytes = received[one.rank];
    bytes.resize(one.bytes);
    in.push_back(create(call.context, bytes.data(), bytes.size()));
    receive(in.back().get(), one.rank, slot, 0, one.bytes);
  }
  for (const Part& part : given) {
    out.push_back(create(call.context, const_cast<void*>(part.data), part.bytes));
    send(out.back().get(), part.rank, slot, 0, part.bytes);
  }
  for (const BufferPointer& buffer : in) wait_receive(buffer.get(), nullptr, call.timeout_ms);
  for (const BufferPointer& buffer : out) wait_send(buffer.get(), nullptr, call.timeout_ms);
  return received;
}

ByRank ExchangeWithAll(const Call& call, const void* data, std::size_t bytes) {
  std::vector<Part> given;
  std::vector<Expected> expected;
  for (const std::int32_t rank : call.group->twins().live()) {
    if (rank == call.context->rank) continue;
    given.push_back({.rank = rank, .data = data, .bytes = bytes});
    expected.push_back({.rank = rank, .bytes = bytes});
  }
  ByRank all = Exchange(call, given, expected);
  all[call.context->rank].assign(static_cast<const char*>(data), bytes);
  return all;
}

}  // namespace eidolon::shim::gloo
