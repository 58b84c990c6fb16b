#include "services/testing/temporary_directory.h"

#include <stdlib.h>

#include <filesystem>

#include "services/base/check.h"

namespace eidolon::testing {

TemporaryDirectory::TemporaryDirectory() {
  path_ = std::filesystem::temp_directory_path().string() + "/eidolon-test-XXXXXX";
  CHECK(mkdtemp(path_.data()) != nullptr);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace eidolon::testing
