// A report of unknown values has to name the kernel that left them, long after its launch and
// without a history of all writes. The table is therefore a cache with one word per slot: a launch
// pays a multiplication and a relaxed store for each of its pointers, and no reader needs a lock
// because one word holds the whole entry. A later pointer with the same slot evicts an earlier one,
// so an answer may be missing. A look-up of an address inside a buffer walks back in steps of the
// allocators' alignment, at most 256 KiB far: beyond that the bytes count as written by nobody.
// Names are only demangled when a report needs them.
#include "shim/value/author_table.h"

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "services/base/demangle.h"

namespace eidolon::shim::value {
namespace {

constexpr std::size_t kMostNames = 1 << 16;
// Allocators of programs place tensors at such distances.
constexpr int kMostSteps = 512;

struct Names {
  std::mutex mutex;  // Guards the rest.
  std::deque<std::string> names{"memory that nothing was seen to write",
                                "a copy or fill of more than 1 MiB",
                                "a collective of unknown bytes", "a library's call",
                                "something that may have overwritten known bytes"};
  std::unordered_map<std::string_view, Author> numbers;
};

Names& TheNames() {
  // Never destroyed: threads may outlive main.
  static auto* const names = new Names;
  return *names;
}

// Names of one build only: "_GLOBAL__N__1f2e_9_Loss_cu_41c7::".
void RemoveBuildNames(std::string& text) {
  for (const std::string_view start : {"_GLOBAL__N_", "_INTERNAL_"}) {
    for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
      const std::size_t end = text.find_first_of(":<>(), &*", at);
      if (end != std::string::npos && text.compare(end, 2, "::") == 0) {
        text.erase(at, end + 2 - at);
      } else {
        at += start.size();
      }
    }
  }
}

void Remove(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

// Returns where the brackets that the text ends with open.
std::size_t LastOpening(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    depth += text[i] == ')' ? 1 : text[i] == '(' ? -1 : 0;
    if (depth == 0) return i;
  }
  return 0;
}

}  // namespace

std::string ReadableName(std::string_view mangled) {
  const std::optional<std::string> demangled = base::Demangle(mangled);
  std::string text = demangled.value_or(std::string(mangled));
  if (demangled) {
    if (text.ends_with(')')) {
      if (const std::size_t opening = LastOpening(text)) text.resize(opening);
    }
    if (text.starts_with("void ")) text.erase(0, 5);
  }
  Remove(text, "(anonymous namespace)::");
  RemoveBuildNames(text);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

Author InternAuthor(std::string_view name) {
  Names& all = TheNames();
  const std::lock_guard guard(all.mutex);
  const auto found = all.numbers.find(name);
  if (found != all.numbers.end()) return found->second;
  if (all.names.size() == kMostNames) return kByOthers;
  const std::string& kept = all.names.emplace_back(name);
  const auto author = static_cast<Author>(all.names.size() - 1);
  all.numbers.emplace(kept, author);
  return author;
}

std::string TitleOf(Author author) {
  Names& all = TheNames();
  std::string name;
  {
    const std::lock_guard guard(all.mutex);
    name = all.names[author < all.names.size() ? author : kByOthers];
  }
  return ReadableName(name);
}

std::optional<Origin> AuthorTable::FindExactly(std::uint64_t address) const {
  const std::uint64_t mixed = Mix(address);
  const std::uint64_t entry = entries_[IndexOf(mixed)].load(std::memory_order_relaxed);
  if (entry == 0 || entry >> 44 != TagOf(mixed)) return std::nullopt;
  return Origin{.author = static_cast<Author>(entry >> 24),
                .pointer = static_cast<std::uint32_t>(entry >> 40 & 15),
                .call = static_cast<std::uint32_t>(entry & kCallMask),
                .begin = address};
}

Origin AuthorTable::Find(std::uint64_t address) const {
  if (const auto exact = FindExactly(address)) return *exact;
  std::uint64_t begin = address - address % kAlignment;
  for (int i = 0; i < kMostSteps; ++i, begin -= kAlignment) {
    if (const auto found = FindExactly(begin)) return *found;
  }
  return {};
}

void AuthorTable::Follow(std::uint64_t target, std::uint64_t source) {
  Origin origin = Find(source);
  if (origin.author == kNobody && !FindExactly(target)) return;
  if (origin.begin != source) origin.pointer = 15;  // A part: no declaration is about it.
  origin.begin = target;
  Note(origin);
}

}  // namespace eidolon::shim::value
