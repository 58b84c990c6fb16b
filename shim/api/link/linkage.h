// Machine code from PTX and from relocatable code, made by NVIDIA's linker for run time
// (libnvJitLink), which needs no GPU. The stock library beside the program's other ones is loaded
// when it is first needed; where there is none, everything here says so.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/target.h"

namespace eidolon::shim::link {

enum class Input { kCubin, kPtx, kFatBinary, kObject, kLibrary };

// Options that programs may pass to the driver's compiler.
struct Settings {
  unsigned registers_max = 0;            // 0: as many as the code wants.
  std::optional<unsigned> optimization;  // Level.
  bool debug_info = false;
  bool line_info = false;
  bool verbose = false;
};

// Message for the user where the linker is missing.
inline constexpr char kMissing[] =
    "libnvJitLink, which compiles PTX and links machine code, is not beside the program's CUDA "
    "libraries: install the package nvidia-nvjitlink for its version of CUDA\n";

bool IsThere() noexcept;

enum class Outcome { kDone, kNoLinker, kInvalid };

// Of one linkage: inputs are compiled as they come. Of one thread at a time.
class Linkage {
 public:
  Linkage(cubin::Capability device, const Settings& settings);
  ~Linkage();
  Linkage(const Linkage&) = delete;
  Linkage& operator=(const Linkage&) = delete;

  // `name` stands for the input in what the linker says.
  Outcome Add(Input kind, std::span<const std::byte> bytes, const std::string& name);
  Outcome Complete();
  // Requires: completed.
  std::vector<std::byte>& code() noexcept { return code_; }

  // Returns what the linker has said up to now; also, that there is none.
  const std::string& errors() const noexcept { return errors_; }
  const std::string& remarks() const noexcept { return remarks_; }

 private:
  Outcome Start(std::string_view first_ptx);
  void ReadLogs();

  const cubin::Capability device_;
  const Settings settings_;
  void* handle_ = nullptr;  // The linker's; made for the first input.
  struct Given {
    std::string name;
    std::vector<std::byte> bytes;  // And a zero: PTX is read as a string that ends with one.
  };
  std::deque<Given> inputs_;  // The linker looks at them again later, at their names at least.
  std::vector<std::byte> executable_;  // The last input that was linked already.
  std::vector<std::byte> code_;
  std::string errors_;
  std::string remarks_;
};

}  // namespace eidolon::shim::link
