#include "services/timing/gpu_flags.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <system_error>

#include "services/base/text.h"

namespace eidolon::timing {

void AddGpuFlags(CLI::App* app, GpuFlags* flags) {
  app->add_option("--own-gpu", flags->gpu,
                  "measure on this GPU of the machine (index or UUID) what no profile knows")
      ->envname("EIDOLON_OWN_GPU");
  app->add_option("--own-gpu-driver", flags->driver, "its driver; default: libcuda.so.1");
  app->add_option("--own-gpu-libraries", flags->libraries,
                  "folder of libcublas.so.13, libcublasLt.so.13 and libcudnn.so.9")
      ->envname("EIDOLON_OWN_GPU_LIBRARIES");
  app->add_option("--own-gpu-worker", flags->worker,
                  "the measuring program; default: eidolon-timing-worker beside this one");
}

std::vector<std::string> WorkerCommand(const GpuFlags& flags) {
  std::vector<std::string> command;
  if (flags.gpu.empty()) return command;
  for (const std::string_view word : base::Split(flags.worker, ' ')) {
    if (!word.empty()) command.emplace_back(word);
  }
  if (command.empty()) {
    std::error_code failure;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
    command.push_back((program.parent_path() / "eidolon-timing-worker").string());
  }
  command.insert(command.end(), {"--gpu", flags.gpu});
  if (!flags.driver.empty()) command.insert(command.end(), {"--driver", flags.driver});
  if (!flags.libraries.empty()) command.insert(command.end(), {"--libraries", flags.libraries});
  return command;
}

}  // namespace eidolon::timing
