// The secret that scripts show to embedded mode: made at the first start, kept in the data folder,
// readable by its owner alone, replaced when others could have read it.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::controller::store {

// 256 random bits of the operating system, in hexadecimal digits.
std::string MakeSecret();

struct AccessToken {
  std::string text;
  // The file was open to others, so that its token is a new one.
  bool was_exposed = false;
};

// Reads the file, or makes it. A token that other users may have read, by the mode or the owner of
// the file, is replaced.
base::Result<AccessToken> LoadAccessToken(const std::string& path);

// Replaces the token: the one before is worth nothing from the next start on.
base::Result<AccessToken> RotateAccessToken(const std::string& path);

}  // namespace eidolon::controller::store
