// For tests of library calls that are computed: numbers in emulated memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {

class NumbersTest : public testing::Test {
 protected:
  static void Put(std::uint64_t address, const std::vector<float>& numbers) {
    value::ProcessPending().Write(address, numbers.data(), numbers.size() * sizeof(float));
  }
  static std::vector<float> Get(std::uint64_t address, std::size_t count) {
    std::vector<float> numbers(count);
    value::ProcessPending().Read(address, numbers.data(), count * sizeof(float), 0, nullptr);
    return numbers;
  }
};

}  // namespace eidolon::shim::compute
