// Reports what a process was last seen doing, by /proc: for the message of a job that makes no
// progress.
#pragma once

#include <sys/types.h>

#include <string>

namespace eidolon::agent::launch {

struct Witness {
  bool is_there = false;
  bool is_stopped = false;  // By SIGSTOP or a debugger.
  // "(pid 12, python3) is stopped (state T)", "(pid 12, python3) waits in recvfrom (wait_woken)".
  std::string text;
};

Witness LookAtProcess(pid_t process, const std::string& proc = "/proc");

}  // namespace eidolon::agent::launch
