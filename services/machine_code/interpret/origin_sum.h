// Computes where the result of an operation that adds may come from.
#pragma once

#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/operation_kinds.h"
#include "services/machine_code/interpret/origin.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// Returns the contribution of a factor to a product: itself when the other one is 1, a number
// without it.
template <typename Value>
Origin Factor(const DataUse& use, unsigned i, Value&& value) {
  const DataSource& other = use.sources[1 - i];
  const bool zero = other.kind == DataSource::Kind::kPlace && other.place == kNowhere;
  if (zero) return kNeither;
  const bool one = other.kind == DataSource::Kind::kFixed && other.number == 1;
  return one ? value(i) : Stripped(value(i));
}

// `value`: of a source, by its number.
template <typename Value>
Origin SumOf(const Step& step, const DataUse& use, Value&& value) {
  Origin result = kNeither;
  unsigned first = 0;
  bool differs = false;
  if (Multiplies(step.operation) && use.source_count >= 2) {
    result = Sum(Factor(use, 0, value), Factor(use, 1, value));
    first = 2;
  }
  for (unsigned i = first; i < use.source_count; ++i) {
    Origin one = value(i);
    if (i == 0 && Shifts(step)) one = Stripped(one);
    if (use.sources[i].negative) {
      differs = differs || (one.ways & (kFromPointer | kFromBoth)) != 0;
      one = Stripped(one);
    }
    result = Sum(result, one);
  }
  return differs ? Stripped(result) : result;
}

}  // namespace eidolon::interpret
