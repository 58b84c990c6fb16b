// Attaches the sender's time to bytes that one process of a server sends to another, and moves the
// reader's clock to it (services/contract/channel). docs/processes.md states the rule, and
// shim/program/time/virtual_clock.h who follows whom.
//
// Thread safe, safe in signal handlers, leaves errno alone. Does nothing outside a job.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::channel {

// Lives around a call that writes `bytes` to a descriptor.
class Sending {
 public:
  Sending(int file, std::size_t bytes) noexcept;
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  // Takes the call's result: the number of bytes that were accepted, or negative for none.
  void Ended(ssize_t sent) noexcept;

 private:
  std::uint64_t key_ = 0;  // 0: the bytes carry no time.
  std::size_t bytes_ = 0;
};

// Follows a call that read `bytes` from a descriptor; not positive: it read nothing.
void Received(int file, ssize_t bytes) noexcept;

// Note that this process is about to end by itself, to become another program, or to start a child.
// The new program or child begins at this process's time if that follows received times.
void NoteEnd() noexcept;
void NoteNewProgram() noexcept;
void NoteNewChild() noexcept;
// Follows a wait that found this child to have ended.
void FoundEnded(pid_t child) noexcept;

}  // namespace eidolon::shim::channel
