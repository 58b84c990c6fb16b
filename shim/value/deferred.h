// Work on values that is put off until somebody looks (pending.h): a small kernel that is run for
// its values. What it will do can be asked beforehand, as far as it tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "shim/value/store.h"

namespace eidolon::shim::value {

// Contents that work will leave in a range of bytes.
enum class Lookahead {
  kNothing,  // It does not make bytes of it known.
  kUnknown,  // Some byte is unknown afterwards.
  kMay,      // Nobody can tell before it is performed.
};

// Work on values that is put off. Performed once, in program order, under the queue's lock.
class Deferred {
 public:
  // False: some byte of the range is surely unknown when the work begins.
  using Before = std::function<bool(std::uint64_t address, std::size_t size)>;

  virtual ~Deferred() = default;
  virtual void Perform(Store& store) = 0;
  // Called under the queue's lock, before the work is performed, as often as needed. `store`: as it
  // is now.
  virtual Lookahead Foresee(Store& /*store*/, std::uint64_t /*address*/, std::size_t /*size*/,
                            const Before& /*before*/) {
    return Lookahead::kMay;
  }
  // The same way. False: it surely leaves every byte of the range as it is.
  virtual bool MayChange(Store& /*store*/, std::uint64_t /*address*/, std::size_t /*size*/) {
    return true;
  }
};

}  // namespace eidolon::shim::value
