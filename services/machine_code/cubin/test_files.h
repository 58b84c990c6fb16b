// Sample files of the tests, made from testdata/sample.ptx with ptxas and fatbinary of CUDA 13.2.
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "source_tree.h"

namespace eidolon::cubin {

inline std::string ReadSample(const std::string& name) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace eidolon::cubin
