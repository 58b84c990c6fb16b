// The rows of all known operations, by topic. Their text's language is in print.h.
#pragma once

#include <cstdint>
#include <span>

#include "services/machine_code/sass/form_row.h"

namespace eidolon::sass {

// Sets of forms.
inline constexpr std::uint8_t kForm1 = 1 << 1;
inline constexpr std::uint8_t kForm4 = 1 << 4;
inline constexpr std::uint8_t kFormsB = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6;  // B varies.
inline constexpr std::uint8_t kFormsC = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7;  // C varies.
inline constexpr std::uint8_t kFormsBC = 0xfe;
inline constexpr std::uint8_t kAnyForm = 0xff;

std::span<const Form> FloatForms();
std::span<const Form> IntegerForms();
std::span<const Form> UniformForms();
std::span<const Form> MemoryForms();
std::span<const Form> ControlForms();

// Rows that take the place of those above, for one dialect.
std::span<const Form> Forms80();
std::span<const Form> Forms100();

}  // namespace eidolon::sass
