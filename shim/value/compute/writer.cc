#include "shim/value/compute/writer.h"

#include <algorithm>
#include <set>

namespace eidolon::shim::compute {
namespace {

// Returns what the closest pointer before each range holds; 0 where there is none.
std::set<std::uint64_t> FindLeading(const std::vector<Arena::Range>& ranges,
                                    const LaunchPointers& pointers) {
  std::set<std::uint64_t> leading;
  for (const auto& [begin, end] : ranges) {
    std::uint64_t closest = 0;
    for (const PointerWord& pointer : pointers.list) {
      if (pointer.address <= begin) closest = std::max(closest, pointer.address);
    }
    leading.insert(closest);
  }
  return leading;
}

}  // namespace

void NoteAuthor(const std::vector<std::uint32_t>& written, const LaunchPointers& pointers,
                const Writer& writer, value::Store& store,
                const std::vector<Arena::Range>* ranges) {
  std::set<std::uint64_t> leading;
  if (ranges != nullptr) leading = FindLeading(*ranges, pointers);
  value::AuthorTable& authors = store.authors();
  value::Origin origin{.author = writer.author, .call = authors.NextCall(writer.author)};
  // Backwards: of two equal pointers the first one counts, as the other may be an unused word.
  for (std::size_t i = written.size(); i-- > 0;) {
    origin.pointer = static_cast<std::uint32_t>(i);
    origin.begin = pointers.list[written[i]].address;
    if (ranges != nullptr && !leading.contains(origin.begin)) continue;
    const value::Origin before = writer.only_sorts ? authors.Find(origin.begin) : value::Origin{};
    const bool stays = before.author != value::kNobody && before.begin == origin.begin;
    if (!stays) authors.Note(origin);
  }
}

}  // namespace eidolon::shim::compute
