// A member's call may hold anything, because a program or a damaged message wrote it: Check keeps
// every rank and data type in its range before a table uses one as an index. Matches compares what
// NCCL needs to be equal on all members. It ignores the call site, and it ignores the transfers of
// groups, which meet in pairs in TransferTable.
#include "services/network/communicator/operation.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/network/collective/memory_use.h"
#include "services/network/communicator/element.h"
#include "services/network/communicator/reduction.h"

namespace eidolon::network::communicator {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

base::Result<void> CheckTransfers(const Operation& operation, std::int32_t size) {
  if (operation.transfers.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "a group of sends and receives is empty");
  }
  for (const TransferCall& transfer : operation.transfers) {
    if (transfer.peer < 0 || transfer.peer >= size) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat(transfer.send ? "send to" : "receive from", " rank ", transfer.peer,
                         " of a communicator with ", size, " ranks"));
    }
  }
  return {};
}

}  // namespace

std::uint64_t ValueBytesMax(const Operation& operation) {
  return ::eidolon::collective::ValueBytesMax(Reduces(operation.kind), operation.data_type);
}

std::uint64_t BytesOf(const Operation& operation) {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const TransferCall& call : operation.transfers) (call.send ? sent : received) += call.bytes;
  return operation.transfers.empty() ? operation.bytes : std::max(sent, received);
}

std::uint64_t MemoryBytesOf(const Operation& operation, const collective::Shape& shape) {
  if (operation.kind != Kind::kPointToPoint) {
    return collective::MemoryBytes({.kind = operation.kind, .bytes = operation.bytes}, shape);
  }
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const TransferCall& call : operation.transfers) (call.send ? sent : received) += call.bytes;
  return collective::TransferMemoryBytes(shape, sent, received);
}

collective::Load LoadOf(const Operation& operation, const collective::Shape& shape) {
  return {.kind = operation.kind,
          .bytes = operation.bytes,
          .root = static_cast<std::uint32_t>(std::max(operation.root, 0)),
          .pxn = shape.tuning.pxn};
}

base::Result<void> Check(const Operation& operation, std::int32_t size) {
  if (operation.kind == Kind::kPointToPoint) return CheckTransfers(operation, size);
  if (ElementBytes(operation.data_type) == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(Name(operation.kind), " of unknown data type ", operation.data_type));
  }
  if (HasRoot(operation.kind) && (operation.root < 0 || operation.root >= size)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(Name(operation.kind), " with root ", operation.root,
                       " in a communicator with ", size, " ranks"));
  }
  return {};
}

bool Matches(const Operation& a, const Operation& b) {
  if (a.kind != b.kind || a.data_type != b.data_type || a.count != b.count) return false;
  if (HasRoot(a.kind) && a.root != b.root) return false;
  return !Reduces(a.kind) || a.reduction == b.reduction;
}

std::string Describe(const Operation& operation) {
  const std::string at = operation.site.empty() ? "" : StrCat(" at ", operation.site);
  if (operation.kind == Kind::kPointToPoint) {
    const auto sends = std::count_if(operation.transfers.begin(), operation.transfers.end(),
                                     [](const TransferCall& call) { return call.send; });
    return StrCat(sends, " sends and ",
                  static_cast<std::ptrdiff_t>(operation.transfers.size()) - sends, " receives", at);
  }
  std::string text(Name(operation.kind));
  if (Reduces(operation.kind)) text += StrCat(" (", ReductionName(operation.reduction), ")");
  if (HasRoot(operation.kind)) {
    const bool from = operation.kind == Kind::kBroadcast || operation.kind == Kind::kScatter;
    text += StrCat(from ? " from " : " to ", operation.root);
  }
  return text + StrCat(" of ", operation.count, " ", ElementName(operation.data_type), at);
}

std::string Ranges(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    std::size_t last = at;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += StrCat(numbers[at]);
    if (last > at) text += StrCat(last == at + 1 ? ", " : "-", numbers[last]);
    at = last + 1;
  }
  return text;
}

}  // namespace eidolon::network::communicator
