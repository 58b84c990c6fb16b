// The options with which every command that hosts the timing service lets it own a GPU.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eidolon::timing {

struct GpuFlags {
  std::string gpu;        // Index or UUID; empty: none is owned.
  std::string driver;     // Empty: libcuda.so.1, where the loader looks.
  std::string libraries;  // Folder of libcublas; empty: where the loader looks.
  std::string worker;     // Program and arguments, parted by spaces; empty: beside this program.
};

// `flags` must outlive the parsing.
void AddGpuFlags(CLI::App* app, GpuFlags* flags);

// Returns the command for GpuBackendOptions::worker; empty when no GPU is to be owned.
std::vector<std::string> WorkerCommand(const GpuFlags& flags);

}  // namespace eidolon::timing
