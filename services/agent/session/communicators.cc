// Joining takes two steps: the thread waits in its slot, and the communicator exists but cannot be
// used until the network has answered. Values of a result come when the last member has called,
// which is before the call ends in virtual time; a value that is not there when a left communicator
// has no open call never comes. A communicator that was left stays for late readers, and only a
// bounded number of them is kept. Names are made plain ASCII, because protocol strings must be
// UTF-8 and programs name groups as they like.
#include "services/agent/session/communicators.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "eidolon/network/v1/network.pb.h"
#include "services/base/text.h"
#include "services/contract/folding/wire/fold_message.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
namespace v1 = network::v1;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;
using wire::ReplyStatus;

namespace {

SimTime ClockOf(const ring::RecordView& record) {
  return {static_cast<std::int64_t>(record.header().host_clock_ps)};
}

// The members' ranks of the job behind a record of a folded job.
template <typename Record>
void AddMembers(const ring::RecordView& record,
                google::protobuf::RepeatedPtrField<common::v1::RankRun>* out) {
  const auto count = record.As<Record>().member_runs;
  if (count == 0) return;
  std::vector<folding::RankRun> runs(count);
  std::memcpy(runs.data(), record.TailAfter<Record>().data(), count * sizeof(folding::RankRun));
  folding::AddRuns(runs, out);
}

// Group names may hold anything; protocol strings must be UTF-8.
std::string PlainName(const char* text, std::size_t limit) {
  std::string plain(text, strnlen(text, limit));
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return plain;
}

ring::Reply Failure(const std::string& reason) {
  return {.status = ReplyStatus::kCollectiveError,
          .payload = std::as_bytes(std::span(reason.data(), reason.size()))};
}

std::unexpected<base::Error> Exists(std::uint32_t id) {
  return Fail(ErrorCode::kCorrupt, StrCat("communicator ", id, " exists already"));
}

}  // namespace

base::Result<void> Communicators::CheckJoin(const ring::RecordView& record) {
  const std::uint32_t id = record.As<wire::CommunicatorInit>().communicator;
  if (all_.contains(id)) return Exists(id);
  return intake_->TakeSlot(record);
}

void Communicators::Join(const ring::RecordView& record) {
  const auto& init = record.As<wire::CommunicatorInit>();
  const std::int32_t rank = host_->CommunicatorEntered(
      process_, {.unique_id = std::string(init.unique_id, sizeof(init.unique_id)),
                 .size = init.size,
                 .rank = init.rank});
  const std::uint64_t request = host_->NewRequest(process_);
  v1::SessionRequest message;
  v1::Join* join = message.mutable_join();
  join->set_request(request);
  join->set_unique_id(init.unique_id, sizeof(init.unique_id));
  join->set_size(init.size);
  join->set_rank(init.rank);
  join->mutable_member()->set_global_rank(rank);
  join->mutable_member()->set_server(server_);
  join->mutable_member()->set_device(record.header().device);
  devices_.insert(record.header().device);
  join->set_ready_picoseconds(record.header().host_clock_ps);
  join->set_name(PlainName(init.name, sizeof(init.name)));
  AddMembers<wire::CommunicatorInit>(record, join->mutable_members());
  Communicator& made = all_[init.communicator];
  made.rank = init.rank;
  made.size = init.size;
  joins_[request] = {.slot = init.slot, .communicator = init.communicator};
  replies_->NoteAsked(init.slot, ClockOf(record));
  replies_->AwaitNetwork(init.slot, {});
  host_->SendToNetwork(std::move(message));
}

base::Result<void> Communicators::Split(const ring::RecordView& record) {
  const auto& split = record.As<wire::CommunicatorSplit>();
  const auto parent = Find(split.parent);
  if (!parent) return std::unexpected(parent.error());
  if (all_.contains(split.communicator)) return Exists(split.communicator);
  if (auto taken = intake_->TakeSlot(record); !taken) return taken;
  if (split.color < 0 && (*parent)->split_ps > 0) {
    const SimTime finish{
        static_cast<std::int64_t>(record.header().host_clock_ps + (*parent)->split_ps)};
    replies_->NoteTold(finish);
    replies_->Send(split.slot, {.value_ps = static_cast<std::uint64_t>(finish.ps)});
    return {};
  }
  const std::uint64_t request = host_->NewRequest(process_);
  v1::SessionRequest message;
  v1::Split* body = message.mutable_split();
  body->set_request(request);
  body->set_parent((*parent)->service);
  body->set_parent_rank((*parent)->rank);
  body->set_color(split.color);
  body->set_key(split.key);
  body->set_ready_picoseconds(record.header().host_clock_ps);
  body->set_name(PlainName(split.name, sizeof(split.name)));
  AddMembers<wire::CommunicatorSplit>(record, body->mutable_members());
  joins_[request] = {.slot = split.slot, .communicator = split.communicator};
  replies_->NoteAsked(split.slot, ClockOf(record));
  replies_->AwaitNetwork(split.slot, {});
  host_->SendToNetwork(std::move(message));
  return {};
}

void Communicators::OnJoined(const v1::Joined& joined) {
  const auto found = joins_.find(joined.request());
  if (found == joins_.end()) return;  // The process is gone.
  const OpenJoin join = found->second;
  joins_.erase(found);
  // A rank that a split gives no communicator still learns when it ended.
  Communicator nobody;
  Communicator& communicator = joined.communicator() == 0 ? nobody : all_[join.communicator];
  communicator.service = joined.communicator();
  communicator.rank = joined.rank();
  communicator.size = joined.size();
  communicator.channels = joined.channels();
  communicator.split_ps = joined.split_picoseconds();
  std::vector<std::uint32_t> ranks(joined.parent_ranks().begin(), joined.parent_ranks().end());
  const std::uint64_t place =
      static_cast<std::uint64_t>(joined.rank()) << 32 | static_cast<std::uint32_t>(joined.size());
  replies_->NoteTold(SimTime{static_cast<std::int64_t>(joined.finish_picoseconds())});
  replies_->Send(join.slot, {.value_ps = joined.finish_picoseconds(),
                             .extra = joined.communicator() == 0 ? 0 : place,
                             .payload = std::as_bytes(std::span(ranks))});
}

void Communicators::OnJoinFailed(std::uint64_t request, const std::string& reason) {
  const auto found = joins_.find(request);
  if (found == joins_.end()) return;
  const std::uint32_t slot = found->second.slot;
  joins_.erase(found);
  replies_->Send(slot, Failure(reason));
}

void Communicators::OnFailed(std::uint64_t service, const std::string& reason) {
  for (auto& [id, communicator] : all_) {
    if (communicator.service != service) continue;
    for (const std::uint32_t slot : communicator.results.TakeWaiting()) {
      replies_->Send(slot, Failure(reason));
    }
  }
}

base::Result<void> Communicators::Leave(const ring::RecordView& record) {
  const auto& leave = record.As<wire::CommunicatorRecord>();
  const auto communicator = Find(leave.communicator);
  if (!communicator) return std::unexpected(communicator.error());
  v1::SessionRequest message;
  message.mutable_leave()->set_communicator((*communicator)->service);
  message.mutable_leave()->set_rank((*communicator)->rank);
  host_->SendToNetwork(std::move(message));
  (*communicator)->left = true;
  ForgetLeft();
  return {};
}

// Numbers grow, so that the smallest was made first.
void Communicators::ForgetLeft() {
  std::size_t idle = 0;
  const auto is_idle = [](const auto& each) {
    return each.second.left && each.second.open.empty();
  };
  for (const auto& each : all_) idle += is_idle(each) ? 1 : 0;
  for (auto at = all_.begin(); at != all_.end() && idle > kLeftKept;) {
    const bool goes = is_idle(*at);
    idle -= goes ? 1 : 0;
    at = goes ? all_.erase(at) : std::next(at);
  }
}

base::Result<Communicator*> Communicators::Find(std::uint32_t id) {
  const auto found = all_.find(id);
  if (found == all_.end() || found->second.service == 0) {
    return Fail(ErrorCode::kCorrupt, StrCat("communicator ", id, " does not exist"));
  }
  if (found->second.left) {
    return Fail(ErrorCode::kCorrupt, StrCat("communicator ", id, " was destroyed before this use"));
  }
  return &found->second;
}

base::Result<void> Communicators::AskValues(const wire::WaitRecord& record) {
  const auto found = all_.find(static_cast<std::uint32_t>(record.id));
  if (found == all_.end()) {
    replies_->Send(record.slot, {.status = ReplyStatus::kInvalid});
    return {};
  }
  Communicator& communicator = found->second;
  ResultValues& results = communicator.results;
  const auto place = results.FindPlace(record.id2);
  // Values come before their call ends: what is not there by then never comes.
  const bool is_lost = place.has_value() && communicator.left && communicator.open.empty() &&
                       !results.Find(*place).has_value();
  if (!place.has_value() || is_lost) {
    replies_->Send(record.slot, {.status = ReplyStatus::kInvalid});
  } else if (const auto bytes = results.Find(*place)) {
    SendValue(record.slot, *bytes);
  } else if (record.observer != 0) {
    replies_->Send(record.slot, {.status = ReplyStatus::kNotReady});
  } else {
    results.Await(record.slot, *place);
    replies_->AwaitValues(record.slot);
  }
  return {};
}

void Communicators::SendValue(std::uint32_t slot, std::string_view bytes) {
  replies_->Send(slot, {.payload = std::as_bytes(std::span(bytes.data(), bytes.size()))});
}

bool Communicators::OnValues(const v1::Values& values) {
  bool is_own = false;
  for (auto& [id, communicator] : all_) {
    if (communicator.service != values.communicator() || communicator.rank != values.rank()) {
      continue;
    }
    communicator.results.Add(
        {.point_to_point = values.point_to_point(), .sequence = values.sequence()}, values.known(),
        values.payload(),
        [this](std::uint32_t slot, std::string_view bytes) { SendValue(slot, bytes); });
    is_own = true;
  }
  return is_own;
}

void Communicators::Dismiss() {
  const ring::Reply ending{.status = ReplyStatus::kJobEnding};
  for (const auto& [request, join] : joins_) replies_->Send(join.slot, ending);
  for (auto& [id, communicator] : all_) {
    for (const std::uint32_t slot : communicator.results.TakeWaiting()) {
      replies_->Send(slot, ending);
    }
  }
  joins_.clear();
}

}  // namespace eidolon::agent::session
