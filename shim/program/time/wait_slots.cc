// A slot changes its owner by compare-and-swap of the ticket, and so does each renewal. The time of
// the renewal is written before, so whoever finds a new ticket finds the new time too: of a former
// owner that comes back and a thread that takes the slot, one gets it.
#include "shim/program/time/wait_slots.h"

namespace eidolon::shim::time {

using base::SimTime;

bool WaitSlots::Renew(Hold& hold, std::int64_t now_ns) noexcept {
  Slot& slot = slots_[hold.slot];
  std::uint64_t expected = hold.ticket;
  hold.ticket = 0;
  if (expected == 0 || slot.ticket.load() != expected) return false;
  slot.renewed_ns.store(now_ns);
  const std::uint64_t ticket = next_ticket_.fetch_add(1);
  if (!slot.ticket.compare_exchange_strong(expected, ticket)) return false;
  hold.ticket = ticket;
  return true;
}

bool WaitSlots::Take(Hold& hold, std::int64_t now_ns) noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    std::uint64_t expected = slot.ticket.load();
    if (expected != 0 && now_ns - slot.renewed_ns.load() <= 10 * kForgottenNs) continue;
    slot.renewed_ns.store(now_ns);
    const std::uint64_t ticket = next_ticket_.fetch_add(1);
    if (!slot.ticket.compare_exchange_strong(expected, ticket)) continue;
    slot.deadline_ps.store(0);
    hold = {.slot = i, .ticket = ticket};
    return true;
  }
  return false;
}

bool WaitSlots::Keep(Hold& hold, SimTime deadline, std::int64_t now_ns) noexcept {
  Slot* slot = &slots_[hold.slot];
  // One that was given up in the meantime, as on a machine that is very busy, is new again.
  const bool recent = now_ns - slot->renewed_ns.load() < kForgottenNs / 2;
  if (Renew(hold, now_ns)) {
    if (recent && slot->deadline_ps.load() == deadline.ps) return false;
  } else {
    if (!Take(hold, now_ns)) return false;
    slot = &slots_[hold.slot];
  }
  slot->since_ns.store(now_ns);
  slot->deadline_ps.store(deadline.ps, std::memory_order_release);
  return true;
}

void WaitSlots::Stop(Hold& hold, std::int64_t now_ns) noexcept {
  if (!Renew(hold, now_ns)) return;
  Slot& slot = slots_[hold.slot];
  slot.deadline_ps.store(0);
  slot.ticket.store(0, std::memory_order_release);
  hold = {};
}

std::optional<WaitSlots::Wait> WaitSlots::Earliest(std::int64_t now_ns) const noexcept {
  std::optional<Wait> earliest;
  for (const Slot& slot : slots_) {
    const std::int64_t deadline = slot.deadline_ps.load(std::memory_order_acquire);
    if (deadline <= 0 || now_ns - slot.renewed_ns.load() > kForgottenNs) continue;
    if (!earliest || deadline < earliest->deadline.ps) {
      earliest = {.deadline = {deadline}, .since_ns = slot.since_ns.load()};
    }
  }
  return earliest;
}

void WaitSlots::Clear() noexcept {
  for (Slot& slot : slots_) {
    slot.deadline_ps.store(0, std::memory_order_relaxed);
    slot.ticket.store(0, std::memory_order_relaxed);
  }
}

}  // namespace eidolon::shim::time
