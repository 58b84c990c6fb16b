// A result is noted by the performer of a launch and put into memory only when it is needed,
// because most losses are never read. In between anything may have been written to the address, so
// a note is used only if the table of authors still names the same kernel for exactly this address,
// and only once. Bytes that were known before a kernel of unknown effect ran come back as they were
// (Store::Revive); a kernel that reads does not say how far, so it revives what was written through
// one pointer, up to a limit.
#include "shim/value/plausible.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "services/base/text.h"
#include "services/contract/ring/layout.h"
#include "shim/core/session.h"
#include "shim/value/declared.h"

namespace eidolon::shim::value {
namespace {

constinit std::atomic<bool> has_plausible_uses{false};

// Returns how many bytes from the address on were written through the same pointer, as far as is
// known.
std::size_t BytesOfOrigin(const AuthorTable& authors, const Origin& origin, std::uint64_t address,
                          std::size_t most) {
  constexpr std::uint64_t kStep = AuthorTable::kAlignment;
  std::uint64_t end = address + kStep - address % kStep;
  while (end - address < most && authors.Find(end).begin == origin.begin) end += kStep;
  return end - address;
}

}  // namespace

void Plausible::Note(std::uint64_t address, Author author, const PlausibleResult& result) {
  const std::lock_guard guard(mutex_);
  if (noted_.size() >= kMost && !noted_.contains(address)) noted_.clear();
  noted_[address] = {.author = author, .result = result};
}

bool Plausible::ProvideNoted(Store& store, std::uint64_t address, const Origin& origin) {
  const auto found = noted_.find(address);
  if (found == noted_.end()) return false;
  const Noted noted = found->second;
  noted_.erase(found);
  if (origin.author != noted.author || origin.begin != address) return false;
  const std::vector<unsigned char> bytes = BytesOfNumber(noted.result.value, noted.result.type);
  store.Write(address, bytes.data(), bytes.size());
  // As of everything that is known: when a kernel may have written there, it is nobody's.
  store.authors().Note({.author = kByOthers, .begin = address});
  uses_.push_back({.author = noted.author,
                   .bytes = bytes.size(),
                   .given = base::StrCat("plausible ", ring::NameOf(noted.result.type))});
  return true;
}

bool Plausible::Provide(Store& store, std::uint64_t address, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  const Origin origin = store.authors().Find(address);
  if (!ProvideNoted(store, address, origin)) {
    if (origin.author != kByOthers) return false;
    const std::size_t most = BytesOfOrigin(store.authors(), origin, address, kMostRevived);
    const std::size_t revived = store.Revive(address, bytes == 0 ? most : std::min(bytes, most));
    if (revived == 0) return false;
    if (bytes == 0) return true;
    uses_.push_back({.author = kByOthers, .bytes = revived, .given = "plausible: as before"});
  }
  has_plausible_uses.store(true, std::memory_order_relaxed);
  return true;
}

bool Plausible::MayProvide(const Store& store, std::uint64_t address) {
  const std::lock_guard guard(mutex_);
  return noted_.contains(address) || store.authors().Find(address).author == kByOthers;
}

std::vector<Plausible::Use> Plausible::TakeUses() {
  const std::lock_guard guard(mutex_);
  has_plausible_uses.store(false, std::memory_order_relaxed);
  return std::exchange(uses_, {});
}

bool GivesPlausible() {
  const core::Session* session = core::Session::Existing();
  return session != nullptr && (session->header().unknown_reads & ring::kPlausibleValues) != 0 &&
         !ProcessDeclared().has_values();
}

Plausible& ProcessPlausible() {
  // Never destroyed: threads may outlive main.
  static auto* const plausible = new Plausible;
  return *plausible;
}

bool HasPlausibleUses() { return has_plausible_uses.load(std::memory_order_relaxed); }

bool ProvideInvented(Store& store, std::uint64_t address, std::size_t bytes) {
  return ProcessDeclared().Provide(store, address) ||
         (GivesPlausible() && ProcessPlausible().Provide(store, address, bytes));
}

}  // namespace eidolon::shim::value
