// Where the content of constant banks comes from: bank 0 holds the launch's parameters, pointers
// among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/machine_code/interpret/origin.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

class ConstantOrigins {
 public:
  // `pointers`: offsets of the parameters that are pointers, in order; they outlive it, as the
  // program does.
  ConstantOrigins(const Program& program, std::span<const std::uint32_t> pointers);

  // Returns the origin of four bytes.
  Origin At(std::uint32_t bank, std::uint32_t offset) const;
  // Returns the origin of a load, LDC or ULDC, whose place is `index` behind the offset.
  Origin Behind(const Step& load, std::uint32_t bank, std::int64_t offset,
                const Origin& index) const;

 private:
  // Of bytes [begin, end) of bank 0.
  Origin Among(std::int64_t begin, std::int64_t end) const;

  const std::uint32_t base_;  // Of the parameters, in bank 0.
  const std::span<const std::uint32_t> pointers_;
  std::span<const std::byte> compilers_;  // The bank that a compiler fills.
};

}  // namespace eidolon::interpret
