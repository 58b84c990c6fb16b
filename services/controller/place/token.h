// Secrets of agents.
#pragma once

#include <cstddef>
#include <string>

namespace eidolon::controller::place {

// Hexadecimal digits of `bytes` random bytes of the operating system: unguessable, unlike
// base::Random.
std::string MakeToken(std::size_t bytes);

}  // namespace eidolon::controller::place
