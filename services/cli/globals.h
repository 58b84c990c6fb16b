// The flags that all commands of `eidolon` share. They have a header of their own because both the
// commands and what finds their controller (target.h) read them.
#pragma once

#include <string>

namespace eidolon::cli {

struct Globals {
  std::string server;          // Empty: target.h finds one.
  std::string data_directory;  // Of the `eidolon up` to talk to.
  std::string token_file;
  bool raw = false;  // Control characters reach the terminal as they are.
  std::string name_space = "default";
};

}  // namespace eidolon::cli
