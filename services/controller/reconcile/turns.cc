#include "services/controller/reconcile/turns.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace eidolon::controller::reconcile {

std::map<std::string, Turn> ComputeTurns(const std::vector<QueuedJob>& jobs, std::size_t limit) {
  std::map<std::string, Turn> turns;
  std::map<std::string, std::deque<const QueuedJob*>> waiting;
  std::map<std::string, std::size_t> shares;  // Active jobs of a namespace.
  std::size_t running = 0;
  for (const QueuedJob& job : jobs) {
    if (job.active) {
      turns[job.key] = {.granted = true};
      ++shares[job.name_space];
      ++running;
    } else {
      waiting[job.name_space].push_back(&job);
    }
  }
  for (auto& [name_space, queue] : waiting) {
    std::sort(queue.begin(), queue.end(), [](const QueuedJob* a, const QueuedJob* b) {
      return std::tie(a->created, a->key) < std::tie(b->created, b->key);
    });
  }
  std::size_t granted = running;
  std::size_t before = 0;
  while (!waiting.empty()) {
    const auto next =
        std::min_element(waiting.begin(), waiting.end(), [&](const auto& a, const auto& b) {
          return std::tuple(shares[a.first], a.second.front()->created, a.second.front()->key) <
                 std::tuple(shares[b.first], b.second.front()->created, b.second.front()->key);
        });
    const QueuedJob* job = next->second.front();
    const bool turn = granted < limit;
    turns[job->key] = {.granted = turn, .before = turn ? 0 : before, .running = 0};
    granted += turn ? 1 : 0;
    before += turn ? 0 : 1;
    ++shares[job->name_space];
    next->second.pop_front();
    if (next->second.empty()) waiting.erase(next);
  }
  for (auto& [key, turn] : turns) turn.running = granted;
  return turns;
}

}  // namespace eidolon::controller::reconcile
