// This has to answer like PyTorch's server, byte for byte, since PyTorch's own client is at the
// other end. It knows neither sockets nor time, so a test can play any order of requests. A request
// that would exceed a limit changes nothing. A value made up for a mirrored rank is stored like any
// other, so that all who ask later read the same; a live rank that sets the key replaces it.
// DescribeWaits exists because a job that hangs in the store shows nothing else.
#include "services/agent/rendezvous/request_handler.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::rendezvous {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// TCPStore's answers to kCheck, kWait and kBarrier.
constexpr char kReady = 0;
constexpr char kNotReady = 1;
constexpr char kStopWaiting = 0;
constexpr char kWaitCancelled = 1;

constexpr std::size_t kMadeUpBytes = 128;  // At most, of what a mirrored rank would have set.
constexpr std::size_t kNumberBytes = 20;   // At most, of a counter.
constexpr std::size_t kWaitsShown = 4;
constexpr std::size_t kRanksShown = 8;

bool Changes(Operation operation) {
  switch (operation) {
    case Operation::kSet:
    case Operation::kCompareSet:
    case Operation::kAdd:
    case Operation::kAppend:
    case Operation::kMultiSet:
    case Operation::kQueuePush:
    case Operation::kBarrier:
    case Operation::kWait:  // Mirrored ranks' values are set.
      return true;
    default:
      return false;
  }
}

std::unexpected<base::Error> Exhausted(std::string_view what, std::size_t limit,
                                       std::string_view unit) {
  return Fail(ErrorCode::kResourceExhausted, StrCat(what, " than ", limit, " ", unit));
}

// "rank 3 waits", "ranks 0, 7 and 2 more wait", "a rank waits".
std::string WhoWaits(const std::set<std::int64_t>& ranks, std::size_t unknown) {
  if (ranks.empty()) return unknown == 1 ? "a rank waits" : StrCat(unknown, " ranks wait");
  std::string text;
  std::size_t shown = 0;
  for (const std::int64_t rank : ranks) {
    if (shown == kRanksShown) break;
    text += StrCat(shown == 0 ? "" : ", ", rank);
    ++shown;
  }
  const std::size_t more = ranks.size() - shown + unknown;
  if (more > 0) text += StrCat(" and ", more, " more");
  return shown + more == 1 ? StrCat("rank ", text, " waits") : StrCat("ranks ", text, " wait");
}

}  // namespace

base::Result<void> RequestHandler::Answer(int client, Request request) {
  if (auto room = CheckRoom(request); !room) return room;
  if (Changes(request.operation)) {
    Change(client, request);
  } else {
    Look(client, request);
  }
  return {};
}

// What a request replaces is not taken off: this close to a limit nobody comes by replacing values.
base::Result<void> RequestHandler::CheckRoom(const Request& request) const {
  std::size_t bytes = 0;
  if (Changes(request.operation)) {
    const bool is_push = request.operation == Operation::kQueuePush;
    std::size_t entries = 0;
    for (const std::string& key : request.keys) {
      if (!is_push && store_.Find(key) != nullptr) continue;
      ++entries;
      bytes += key.size() + kMadeUpBytes;
    }
    for (const std::string& value : request.values) bytes += value.size();
    const bool counts =
        request.operation == Operation::kAdd || request.operation == Operation::kBarrier;
    if (counts) bytes += kNumberBytes;
    if (entries > 0 && store_.entries() + entries > options_.entries_max) {
      return Exhausted("the rendezvous store would have more", options_.entries_max, "keys");
    }
    if (bytes > 0 && store_.bytes() + bytes > options_.bytes_max) {
      return Exhausted("the rendezvous store would hold more", options_.bytes_max, "bytes");
    }
  }
  if (request.operation == Operation::kMultiGet) {
    for (const std::string& key : request.keys) {
      const std::string* value = store_.Find(key);
      bytes += value == nullptr ? 0 : value->size();
    }
    if (bytes > options_.bytes_max) {
      return Exhausted("an answer of the rendezvous store would have more", options_.bytes_max,
                       "bytes");
    }
  }
  return {};
}

void RequestHandler::Change(int client, Request& request) {
  const std::string key = request.keys.empty() ? "" : request.keys[0];
  switch (request.operation) {
    case Operation::kSet:
      store_.Set(key, std::move(request.values[0]));
      return HasArrived(key);
    case Operation::kAppend:
      store_.Append(key, request.values[0]);
      return HasArrived(key);
    case Operation::kCompareSet:
      AppendText(answers_to_(client),
                 store_.CompareSet(key, request.values[0], std::move(request.values[1])));
      if (store_.Has(key)) HasArrived(key);
      return;
    case Operation::kMultiSet:
      for (std::size_t i = 0; i < request.keys.size(); ++i) {
        store_.Set(request.keys[i], std::move(request.values[i]));
        HasArrived(request.keys[i]);
      }
      return;
    case Operation::kAdd:
      return Add(client, request);
    case Operation::kQueuePush:
      return Push(request);
    case Operation::kBarrier:
      return Barrier(client, request);
    default:
      return Wait(client, request);
  }
}

void RequestHandler::Look(int client, const Request& request) {
  std::string* out = answers_to_(client);
  switch (request.operation) {
    case Operation::kCheck:
      return out->push_back(store_.HasAll(request.keys) ? kReady : kNotReady);
    case Operation::kGet:
    case Operation::kMultiGet:
      // Clients have waited for them.
      for (const std::string& key : request.keys) {
        const std::string* value = store_.Find(key);
        AppendText(out, value == nullptr ? std::string_view() : std::string_view(*value));
      }
      return;
    case Operation::kCountKeys:
      return AppendNumber(out, static_cast<std::int64_t>(store_.size()));
    case Operation::kListKeys:
      AppendNumber(out, static_cast<std::int64_t>(store_.size()));
      for (const auto& [key, value] : store_.values()) AppendText(out, key);
      return;
    case Operation::kDelete:
      return AppendNumber(out, store_.Delete(request.keys[0]) ? 1 : 0);
    case Operation::kQueuePop: {
      AppendNumber(out, static_cast<std::int64_t>(store_.QueueLength(request.keys[0])));
      if (const auto first = store_.Pop(request.keys[0])) AppendText(out, *first);
      return;
    }
    case Operation::kQueueLength:
      return AppendNumber(out, static_cast<std::int64_t>(store_.QueueLength(request.keys[0])));
    case Operation::kPing: {
      const auto nonce = static_cast<std::uint32_t>(request.number);
      out->append(reinterpret_cast<const char*>(&nonce), sizeof(nonce));
      return;
    }
    case Operation::kCancelWait:
      waits_.Cancel(client);
      return out->push_back(kWaitCancelled);
    default:  // kValidate has no answer.
      return;
  }
}

void RequestHandler::Add(int client, const Request& request) {
  const std::string& key = request.keys[0];
  const std::int64_t sum = store_.Add(key, request.number);
  const std::int64_t mirrored_ranks = MirroredCount(options_.world, key, sum);
  AppendNumber(answers_to_(client), mirrored_ranks == 0 ? sum : store_.Add(key, mirrored_ranks));
  HasArrived(key);
}

void RequestHandler::Push(Request& request) {
  store_.Push(request.keys[0], std::move(request.values[0]));
  if (const auto waiter = waits_.ArriveForOne(request.keys[0])) {
    answers_to_(*waiter)->push_back(kStopWaiting);
  }
}

void RequestHandler::Wait(int client, const Request& request) {
  // What a live rank sets later replaces it. That ranks of one group may then have different ids
  // does no harm: the members of a folded job's communicators know each other by their ranks.
  WaitList::Wait wait;
  for (const std::string& key : request.keys) {
    if (store_.Has(key)) continue;
    if (auto value = MirroredValue(key)) {
      store_.Set(key, std::move(*value));
      HasArrived(key);
    } else {
      wait.keys.insert(key);
    }
  }
  if (wait.keys.empty()) return answers_to_(client)->push_back(kStopWaiting);
  waits_.Begin(client, std::move(wait));
}

// As in PyTorch, the counter stays: who comes again does not wait.
void RequestHandler::Barrier(int client, const Request& request) {
  const std::string& key = request.keys[0];
  std::int64_t arrived = store_.Add(key, 1);
  const std::int64_t mirrored_ranks =
      MirroredRanksAtBarrier(options_.world, request.number, arrived);
  if (mirrored_ranks > 0) arrived = store_.Add(key, mirrored_ranks);
  if (arrived < request.number) {
    return waits_.Begin(client, {.keys = {key}, .ranks = request.number});
  }
  answers_to_(client)->push_back(kStopWaiting);
  HasArrived(key);
}

void RequestHandler::HasArrived(const std::string& key) {
  for (const int waiter : waits_.Arrive(key)) answers_to_(waiter)->push_back(kStopWaiting);
}

std::vector<std::string> RequestHandler::DescribeWaits(const RankOf& rank_of) const {
  struct Waiters {
    std::set<std::int64_t> ranks;
    std::size_t unknown = 0;
    std::int64_t barrier_ranks = 0;
  };
  std::map<std::string, Waiters> by_key;
  for (const auto& [client, wait] : waits_.all()) {
    const auto rank = rank_of(client);
    for (const std::string& key : wait.keys) {
      Waiters& waiters = by_key[key];
      if (rank.has_value()) waiters.ranks.insert(*rank);
      if (!rank.has_value()) ++waiters.unknown;
      waiters.barrier_ranks = std::max(waiters.barrier_ranks, wait.ranks);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [key, waiters] : by_key) {
    if (sentences.size() == kWaitsShown) {
      sentences.back() += StrCat("; ", by_key.size() - kWaitsShown, " more keys are waited for");
      break;
    }
    std::string text = WhoWaits(waiters.ranks, waiters.unknown);
    if (waiters.barrier_ranks > 0) {
      const std::string* arrived = store_.Find(key);
      text +=
          StrCat(" in the rendezvous store at the barrier '", key, "' of ", waiters.barrier_ranks,
                 " ranks, to which ", arrived == nullptr ? "0" : *arrived,
                 " have come; mirrored ranks come to barriers of the whole job alone");
    } else {
      text += StrCat(" in the rendezvous store for '", key, "', which no live rank has set");
      if (const std::string why = WhyNobodySets(key); !why.empty()) text += ": " + why;
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace eidolon::agent::rendezvous
