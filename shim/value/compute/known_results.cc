// The key is a hash, and only a way to candidates: a result is repeated when code, shape,
// parameters and all bytes that the launch read are equal, so a collision costs time and never a
// wrong value. `read` holds bytes as they were before the launch, because the interpreter marks a
// byte as read only before the kernel itself has written it. Both lists are ranges in the order of
// addresses. The list of results is in order of use, and the total of their bytes bounds the
// memory: the least recently used results leave first.
#include "shim/value/compute/known_results.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <string_view>

namespace eidolon::shim::compute {

bool KnownResults::Result::IsOf(const interpret::Program& other,
                                const interpret::Launch& launch) const {
  return program == &other && grid == launch.grid && block == launch.block &&
         dynamic_shared_bytes == launch.dynamic_shared_bytes && cooperative == launch.cooperative &&
         std::ranges::equal(parameters, launch.parameters);
}

std::size_t KnownResults::Result::size() const {
  return sizeof(Result) + parameters.size() + read.values.size() + written.values.size() +
         (read.ranges.size() + written.ranges.size()) * sizeof(read.ranges.front());
}

std::uint64_t KnownResults::KeyOf(const interpret::Program& program,
                                  const interpret::Launch& launch) {
  const std::string_view parameters(reinterpret_cast<const char*>(launch.parameters.data()),
                                    launch.parameters.size());
  std::uint64_t key = std::hash<std::string_view>{}(parameters);
  for (const std::uint64_t part :
       {reinterpret_cast<std::uint64_t>(&program), launch.grid.volume(), launch.block.volume()}) {
    key = (key ^ part) * 0x9e3779b97f4a7c15u;
  }
  return key;
}

void KnownResults::Forget(std::list<Result>::iterator result) {
  const auto [begin, end] = by_key_.equal_range(result->key);
  by_key_.erase(std::find_if(begin, end, [&](const auto& at) { return at.second == result; }));
  kept_ -= result->size();
  results_.erase(result);
}

void KnownResults::ForgetOldestOf(std::uint64_t key) {
  const auto [begin, end] = by_key_.equal_range(key);
  Forget(std::min_element(begin, end, [](const auto& a, const auto& b) {
           return a.second->used < b.second->used;
         })->second);
}

bool KnownResults::Fill(Bytes* bytes, const value::Store& store) {
  for (const auto& [begin, end] : bytes->ranges) {
    const std::size_t before = bytes->values.size();
    bytes->values.resize(before + (end - begin));
    if (store.Read(begin, bytes->values.data() + before, end - begin) != 0) return false;
  }
  return true;
}

bool KnownResults::HoldsStill(const Bytes& bytes, const value::Store& store) {
  std::size_t before = 0;
  for (const auto& [begin, end] : bytes.ranges) {
    const std::size_t size = end - begin;
    now_.resize(std::max(now_.size(), size));
    if (store.Read(begin, now_.data(), size) != 0) return false;
    if (std::memcmp(now_.data(), bytes.values.data() + before, size) != 0) return false;
    before += size;
  }
  return true;
}

bool KnownResults::Repeat(const interpret::Program& program, const interpret::Launch& launch,
                          value::Store& store) {
  const auto [begin, end] = by_key_.equal_range(KeyOf(program, launch));
  const auto at = std::find_if(begin, end, [&](const auto& entry) {
    return entry.second->IsOf(program, launch) && HoldsStill(entry.second->read, store);
  });
  if (at == end) return false;
  const auto found = at->second;
  WriteResults(found->written.ranges, found->written.values.data(), store);
  found->used = ++uses_;
  results_.splice(results_.begin(), results_, found);
  return true;
}

void KnownResults::Note(const interpret::Program& program, const interpret::Launch& launch,
                        const PageMemory& memory, const value::Store& store) {
  if (memory.reaches_host()) return;
  Result result{.key = KeyOf(program, launch),
                .program = &program,
                .grid = launch.grid,
                .block = launch.block,
                .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                .cooperative = launch.cooperative,
                .parameters = {launch.parameters.begin(), launch.parameters.end()},
                .read = {.ranges = memory.Read()},
                .written = {.ranges = memory.Written()}};
  // What it read of its own results was not there before.
  if (!Fill(&result.read, store)) return;
  for (const auto& [begin, end] : result.written.ranges) {
    const unsigned char* const bytes = memory.BytesAt(begin);
    result.written.values.insert(result.written.values.end(), bytes, bytes + (end - begin));
  }
  const std::size_t size = result.size();
  if (size > capacity_) return;
  if (by_key_.count(result.key) >= kMostInputs) ForgetOldestOf(result.key);
  kept_ += size;
  result.used = ++uses_;
  results_.push_front(std::move(result));
  by_key_.emplace(results_.front().key, results_.begin());
  while (kept_ > capacity_) Forget(std::prev(results_.end()));
}

}  // namespace eidolon::shim::compute
