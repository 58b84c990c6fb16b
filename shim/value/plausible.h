// Plausible results: what stands in a loss, a mean or a norm that nobody computed, instead of zero,
// so that programs that divide by it, take its logarithm or stop at it go on as they would on a
// GPU.
//
// Whoever performs a launch in order (shim/value/compute) puts down what it would plausibly have
// given. It stands in memory as soon as somebody needs it: small kernels and collectives compute
// with it, and the report counts it as an unknown read. Of a few bytes that were known until a
// kernel ran that may have written anywhere in their buffer, what stood there before is the
// plausible content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "services/contract/ring/declaration.h"
#include "shim/value/author_table.h"
#include "shim/value/store.h"

namespace eidolon::shim::value {

struct PlausibleResult {
  double value = 0;
  ring::ElementType type = ring::ElementType::kFloat32;
};

// Thread safe.
class Plausible {
 public:
  // The author has written a result, one element, to the address.
  void Note(std::uint64_t address, Author author, const PlausibleResult& result);
  // Puts the result that is noted for exactly this address into the store, once, or what stood
  // there before. `bytes`: that the host reads; 0: a kernel reads, nobody knows how many. False:
  // there is neither, or somebody else has written there since.
  bool Provide(Store& store, std::uint64_t address, std::size_t bytes);

  // False: Provide would surely give nothing for the address, as far as launches have been
  // performed.
  bool MayProvide(const Store& store, std::uint64_t address);

  // A result that was put into memory since the last call.
  struct Use {
    Author author = kNobody;
    std::size_t bytes = 0;
    std::string given;  // "plausible float32".
  };
  std::vector<Use> TakeUses();

 private:
  // More are not kept: the oldest addresses are forgotten with all others.
  static constexpr std::size_t kMost = 4096;

  // Bytes that are revived at a time.
  static constexpr std::size_t kMostRevived = 64 << 10;

  struct Noted {
    Author author = kNobody;
    PlausibleResult result;
  };
  bool ProvideNoted(Store& store, std::uint64_t address, const Origin& origin);

  std::mutex mutex_;  // Guards the rest.
  std::map<std::uint64_t, Noted> noted_;
  std::vector<Use> uses_;
};

// The job asks for plausible results. One that declares values itself gets no others: what is
// derived from a plausible one would be known, and a value that is declared for it would not be
// asked for.
bool GivesPlausible();

// The process's.
Plausible& ProcessPlausible();
// True when TakeUses of the process's would give something. Cheap.
bool HasPlausibleUses();

// What a job declares for the address, or else what is plausible, is put into the store. False: it
// stays unknown. `bytes` as of Plausible::Provide.
bool ProvideInvented(Store& store, std::uint64_t address, std::size_t bytes = 0);

}  // namespace eidolon::shim::value
