// What launches wrote that were run before: a launch of the same code, shape and parameters that
// finds the same bytes writes the same bytes. Programs compute the tables of their position
// embeddings anew in every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/machine_code/interpret/run.h"
#include "shim/value/compute/page_memory.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Keeps the results of the latest launches, some megabytes of them. Belongs to one thread at a
// time.
class KnownResults {
 public:
  // Launches of fewer thread instructions are as quick to run as to find.
  static constexpr std::uint64_t kFewestLaneSteps = 500'000;
  static constexpr std::size_t kDefaultCapacity = 8 << 20;
  // What one launch wrote for so many inputs is kept: most that differ never come again.
  static constexpr std::size_t kMostInputs = 2;

  explicit KnownResults(std::size_t capacity_bytes = kDefaultCapacity)
      : capacity_(capacity_bytes) {}

  // Writes what such a launch wrote before, if the store holds now what it read then. False: that
  // is not known, and nothing was written. The program stays where it is.
  bool Repeat(const interpret::Program& program, const interpret::Launch& launch,
              value::Store& store);
  // The launch was run to its end in `memory`, which was not put into the store yet.
  void Note(const interpret::Program& program, const interpret::Launch& launch,
            const PageMemory& memory, const value::Store& store);

  std::size_t kept_bytes() const { return kept_; }

 private:
  // Bytes at addresses.
  struct Bytes {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // [begin, end).
    std::vector<unsigned char> values;                            // One range after another.
  };
  struct Result {
    std::uint64_t key = 0;
    std::uint64_t used = 0;  // When it was last, by count.
    const interpret::Program* program = nullptr;
    interpret::Dims grid;
    interpret::Dims block;
    std::uint32_t dynamic_shared_bytes = 0;
    bool cooperative = false;
    std::vector<std::byte> parameters;
    Bytes read;
    Bytes written;

    bool IsOf(const interpret::Program& other, const interpret::Launch& launch) const;
    std::size_t size() const;
  };

  // Hashes the code, shape and parameters.
  static std::uint64_t KeyOf(const interpret::Program& program, const interpret::Launch& launch);
  void Forget(std::list<Result>::iterator result);
  // Forgets the oldest launch of this key.
  void ForgetOldestOf(std::uint64_t key);
  // False: some byte is not known.
  static bool Fill(Bytes* bytes, const value::Store& store);
  bool HoldsStill(const Bytes& bytes, const value::Store& store);

  const std::size_t capacity_;
  std::size_t kept_ = 0;
  std::uint64_t uses_ = 0;
  std::list<Result> results_;  // The latest first.
  std::unordered_multimap<std::uint64_t, std::list<Result>::iterator> by_key_;
  std::vector<unsigned char> now_;
};

}  // namespace eidolon::shim::compute
