// The registers and predicates that the handler of an instruction reads and writes, exactly.
//
// data_use.h describes instructions as they are printed, which is enough to follow addresses. This
// describes the handlers, so that whoever follows unknown values (unknown_steps.h) misses none.
#pragma once

#include <array>
#include <cstdint>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// Numbers of registers, rows, predicates; of so few that a place for each is enough.
template <typename Number, std::size_t kMost>
class FewNumbers {
 public:
  void Add(Number number) { numbers_[count_++] = number; }
  const Number* begin() const { return numbers_.data(); }
  const Number* end() const { return numbers_.data() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<Number, kMost> numbers_{};
  unsigned count_ = 0;
};

struct Effect {
  // kEach: the result in a lane depends on that lane's operands only, and uniform ones. kAll: on
  // all lanes of the warp. kTaking: on those that take part. kOwn: it needs rules of its own, to
  // which the lists below may be of use. kNone: the operation is not listed.
  enum class Kind : std::uint8_t { kNone, kEach, kAll, kTaking, kOwn };
  Kind kind = Kind::kNone;
  FewNumbers<std::uint16_t, 16> rows_read;
  FewNumbers<std::uint16_t, 6> uniforms_read;
  FewNumbers<std::uint8_t, 8> predicates_read;
  FewNumbers<std::uint8_t, 8> uniform_predicates_read;
  FewNumbers<std::uint16_t, 8> rows_written;
  FewNumbers<std::uint16_t, 4> uniforms_written;
  FewNumbers<std::uint8_t, 8> predicates_written;
  FewNumbers<std::uint8_t, 2> uniform_predicates_written;
};

// Requires: the step is not one of control.
Effect EffectOf(const Step& step);

}  // namespace eidolon::interpret
