// Says whether a child of fork can look up names.
//
// glibc keeps the state of its resolver behind a lock (resolv/resolv_conf.c) that fork does not
// free in the child. Where another thread held it as the process forked, whoever looks up a name in
// the child, and every thread there that ends after it did so, waits for ever. Only exec helps.
#pragma once

#include <cstdint>

namespace eidolon::shim::process {

inline constexpr std::int64_t kResolverPatienceNs = 1'000'000'000;

// Returns false where a look-up of a number takes longer than `patience_ns` of real time. A thread
// of its own makes it, which stays then.
bool IsResolverFree(std::int64_t patience_ns = kResolverPatienceNs) noexcept;

}  // namespace eidolon::shim::process
