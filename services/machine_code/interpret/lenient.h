// Translating code for somebody who only counts what it executes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// As Translate(), but instructions that cannot be run are passed over when their turn comes: they
// leave registers as they are. Such steps have a form when the operation is known; else only their
// word. Where one of them is asked whether something has happened (SYNCS), it has, and where one
// asks for registers or for columns of tensor memory, they are free. Returns how many of them the
// code has.
std::size_t TranslateLeniently(std::span<const std::byte> code, Program& program);

// True for a step that such a translation passes over.
bool IsPassedOver(const Step& step);

}  // namespace eidolon::interpret
