// The driver's compiler of PTX and its linker, which are libnvJitLink's here: what programs ask of
// them, and the text that comes back.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

#include "shim/api/link/linkage.h"

namespace eidolon::shim::cuda_driver::jit {

// The options of a compilation. The program's buffers and the array of values outlive this object.
class Options {
 public:
  Options(unsigned count, CUjit_option* options, void** values);

  const link::Settings& settings() const noexcept { return settings_; }
  // Fills the program's buffers, and their sizes in the array with what was filled.
  void Tell(const std::string& errors, const std::string& remarks) const;

 private:
  struct Buffer {
    char* text = nullptr;
    std::size_t bytes = 0;
    void** filled = nullptr;

    void Fill(const std::string& said) const;
  };

  link::Settings settings_;
  Buffer errors_;
  Buffer remarks_;
};

CUresult Create(unsigned count, CUjit_option* options, void** values, CUlinkState* result);
// The input's own options add to nothing: those of the linkage hold.
CUresult AddData(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                 const char* name, unsigned count, CUjit_option* options, void** values);
CUresult AddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned count,
                 CUjit_option* options, void** values);
// The code lives until the linkage is destroyed.
CUresult Complete(CUlinkState state, void** code, std::size_t* bytes);
CUresult Destroy(CUlinkState state);

}  // namespace eidolon::shim::cuda_driver::jit
