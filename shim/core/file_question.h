// Records whether the calling thread has queried a file since it last read the wall clock. Virtual
// time stands still between calls, but no thread looks at a file in no time: programs make names
// out of thread and wall clock, ask whether such a file is there, and rely on the next name being
// another (XLA, in microseconds).
#pragma once

#include <utility>

namespace eidolon::shim::core {

[[gnu::tls_model("initial-exec")]] inline constinit thread_local bool asked_about_file = false;

inline void NoteFileQuestion() noexcept { asked_about_file = true; }
inline bool TakeFileQuestion() noexcept { return std::exchange(asked_about_file, false); }

}  // namespace eidolon::shim::core
