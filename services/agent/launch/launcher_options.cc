// The tables say how many words an option takes, since that decides where the program begins. Where
// a launcher has too many options to list (srun, accelerate), only those without a value and those
// that concern ranks are listed, and every other one counts as having one value. Options under
// which ranks see other GPUs or run other programs refuse folding by name.
#include "services/agent/launch/launcher_options.h"

#include <algorithm>
#include <array>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// torch.distributed.run, PyTorch 2.0 to 2.15.
constexpr auto kTorchrun = std::to_array<Option>({
    {"--nnodes"},
    {"--nproc-per-node"},
    {"--rdzv-backend"},
    {"--rdzv-endpoint"},
    {"--rdzv-id"},
    {"--rdzv-conf"},
    {"--standalone", {}, 0},
    {"--max-restarts"},
    {"--monitor-interval"},
    {"--start-method"},
    {"--event-log-handler"},
    {"--role"},
    {"--module", "-m", 0},
    {"--no-python", {}, 0},
    {"--run-path", {}, 0},
    {"--log-dir"},
    {"--redirects", "-r"},
    {"--tee", "-t"},
    {"--log-line-prefix-template"},
    {"--local-ranks-filter"},
    {"--duplicate-stdout-filters"},
    {"--duplicate-stderr-filters"},
    {"--node-rank"},
    {"--master-addr"},
    {"--master-port"},
    {"--local-addr"},
    {"--logs-specs"},
    {"--numa-binding"},
    {"--signals-to-handle"},
    {"--shutdown-timeout"},
    {"--virtual-local-rank", {}, 0},
    {"--use-env", {}, 0},
});

// accelerate launch 1.0 to 1.15: those without a value; all others have one.
constexpr auto kAccelerate = std::to_array<Option>({
    {"--quiet", "-q", 0},
    {"--cpu", {}, 0},
    {"--multi-gpu", {}, 0},
    {"--tpu", {}, 0},
    {"--enable-cpu-affinity", {}, 0},
    {"--dynamo-use-fullgraph", {}, 0},
    {"--dynamo-use-dynamic", {}, 0},
    {"--dynamo-use-regional-compilation", {}, 0},
    {"--use-deepspeed", {}, 0},
    {"--use-fsdp", {}, 0},
    {"--use-parallelism-config", {}, 0},
    {"--use-megatron-lm", {}, 0},
    {"--same-network", {}, 0},
    {"--module", "-m", 0},
    {"--no-python", {}, 0},
    {"--tpu-cluster", {}, 0},
    {"--no-tpu-cluster", {}, 0},
    {"--tpu-use-sudo", {}, 0},
    {"--downcast-bf16", {}, 0},
    {"--fp8-use-autocast-during-eval", {}, 0},
    {"--debug", {}, 0},
    {"--num-processes"},
    {"--num-machines"},
    {"--machine-rank"},
});

// deepspeed 0.10 to 0.19.
constexpr auto kDeepSpeed = std::to_array<Option>({
    {"--hostfile", "-H"},
    {"--include", "-i"},
    {"--exclude", "-e"},
    {"--num-nodes"},
    {"--min-elastic-nodes"},
    {"--max-elastic-nodes"},
    {"--num-gpus"},
    {"--num-accelerators"},
    {"--master-port"},
    {"--master-addr"},
    {"--node-rank"},
    {"--launcher"},
    {"--launcher-args"},
    {"--module", {}, 0},
    {"--no-python", {}, 0},
    {"--no-local-rank", {}, 0},
    {"--no-ssh", {}, 0},
    {"--no-ssh-check", {}, 0},
    {"--force-multi", {}, 0},
    {"--save-pid", {}, 0},
    {"--enable-each-rank-log"},
    {"--autotuning"},
    {"--elastic-training", {}, 0},
    {"--bind-cores-to-rank", {}, 0},
    {"--bind-core-list"},
    {"--ssh-port"},
    {"--venv-script"},
    {"--log-level"},
    {"--quiet", "-q", 0},
});

// Slurm 20 to 25: those without a value, those with a short form, and those that say something
// about ranks; all other long ones have a value.
constexpr auto kSrun = std::to_array<Option>({
    {"--ntasks", "-n"},
    {"--nodes", "-N"},
    {"--ntasks-per-node"},
    {"--gpus-per-task"},
    {"--gpu-bind"},
    {"--multi-prog", {}, 0},
    {"--export"},
    {"--cpus-per-task", "-c"},
    {"--partition", "-p"},
    {"--time", "-t"},
    {"--job-name", "-J"},
    {"--nodelist", "-w"},
    {"--exclude", "-x"},
    {"--output", "-o"},
    {"--error", "-e"},
    {"--input", "-i"},
    {"--chdir", "-D"},
    {"--account", "-A"},
    {"--gpus", "-G"},
    {"--qos", "-q"},
    {"--constraint", "-C"},
    {"--distribution", "-m"},
    {"--label", "-l", 0},
    {"--unbuffered", "-u", 0},
    {"--verbose", "-v", 0},
    {"--quiet", "-Q", 0},
    {"--overcommit", "-O", 0},
    {"--oversubscribe", "-s", 0},
    {"--no-kill", "-k", 0},
    {"--kill-on-bad-exit", "-K", 0},
    {"--exclusive", {}, 0},
    {"--overlap", {}, 0},
    {"--exact", {}, 0},
    {"--whole", {}, 0},
    {"--contiguous", {}, 0},
    {"--spread-job", {}, 0},
    {"--container-writable", {}, 0},
    {"--container-readonly", {}, 0},
    {"--container-mount-home", {}, 0},
    {"--no-container-mount-home", {}, 0},
    {"--container-remap-root", {}, 0},
    {"--no-container-remap-root", {}, 0},
    {"--container-entrypoint", {}, 0},
    {"--no-container-entrypoint", {}, 0},
});

// Open MPI 4 and 5, where -name is --name.
constexpr auto kMpirun = std::to_array<Option>({
    {"--np", "-n"},
    {"--n"},
    {"--npernode", "-N"},
    {"--ppr"},
    {"--x", "-x"},
    {"--host", "-H"},
    {"--hostfile"},
    {"--machinefile"},
    {"--bind-to"},
    {"--map-by"},
    {"--rank-by"},
    {"--mca", {}, 2},
    {"--gmca", {}, 2},
    {"--omca", {}, 2},
    {"--prtemca", {}, 2},
    {"--pmixmca", {}, 2},
    {"--wdir"},
    {"--wd"},
    {"--prefix"},
    {"--output-filename"},
    {"--output"},
    {"--timeout"},
    {"--allow-run-as-root", {}, 0},
    {"--oversubscribe", {}, 0},
    {"--nooversubscribe", {}, 0},
    {"--use-hwthread-cpus", {}, 0},
    {"--tag-output", {}, 0},
    {"--timestamp-output", {}, 0},
    {"--report-bindings", {}, 0},
    {"--display-map", {}, 0},
    {"--display-allocation", {}, 0},
    {"--quiet", "-q", 0},
    {"--verbose", "-v", 0},
});

constexpr std::string_view kTorchrunPrograms[] = {"torchrun"};
constexpr std::string_view kTorchrunModules[] = {"torch.distributed.run",
                                                 "torch.distributed.launch"};
constexpr std::string_view kAcceleratePrograms[] = {"accelerate", "accelerate-launch"};
constexpr std::string_view kAccelerateModules[] = {"accelerate.commands.launch"};
constexpr std::string_view kDeepSpeedPrograms[] = {"deepspeed", "deepspeed.pt", "ds"};
constexpr std::string_view kDeepSpeedModules[] = {"deepspeed.launcher.runner"};
constexpr std::string_view kSrunPrograms[] = {"srun"};
constexpr std::string_view kMpirunPrograms[] = {"mpirun", "mpiexec", "orterun", "prterun"};

const LauncherKind kKinds[] = {
    {.programs = kTorchrunPrograms,
     .modules = kTorchrunModules,
     .subcommand = {},
     .syntax =
         {.program = "torchrun", .options = kTorchrun, .underscores = true, .abbreviates = true}},
    {.programs = kAcceleratePrograms,
     .modules = kAccelerateModules,
     .subcommand = "launch",
     .syntax = {.program = "accelerate launch",
                .options = kAccelerate,
                .underscores = true,
                .others_have_value = true},
     .keeps_launcher = true},
    {.programs = kDeepSpeedPrograms,
     .modules = kDeepSpeedModules,
     .subcommand = {},
     .syntax =
         {.program = "deepspeed", .options = kDeepSpeed, .underscores = true, .abbreviates = true},
     .variables = RankVariables::kDeepSpeed,
     .passes_local_rank = true},
    {.programs = kSrunPrograms,
     .modules = {},
     .subcommand = {},
     .syntax = {.program = "srun", .options = kSrun, .others_have_value = true},
     .variables = RankVariables::kSlurm,
     .starts_programs = true},
    {.programs = kMpirunPrograms,
     .modules = {},
     .subcommand = {},
     .syntax = {.program = "mpirun", .options = kMpirun, .one_dash = true},
     .variables = RankVariables::kOpenMpi,
     .starts_programs = true},
};

// "NAME=value" of srun --export and mpirun -x; a name alone is inherited anyway.
void TakeVariable(std::string_view text, LauncherCommand* read) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return;
  read->environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

std::unexpected<base::Error> CannotFold(const LauncherKind& kind, std::string_view name,
                                        std::string_view why) {
  return Fail(ErrorCode::kUnsupported, StrCat("a job that is started by ", kind.syntax.program,
                                              " with ", name, " cannot be folded: ", why));
}

Result<void> TakeOfSrun(const LauncherKind& kind, std::string_view name, const std::string& value,
                        LauncherCommand* read) {
  if (name == "--ntasks") read->ranks = value;
  if (name == "--ntasks-per-node") read->ranks_per_server = value;
  if (name == "--multi-prog") {
    return CannotFold(kind, name, "its ranks run different programs");
  }
  const bool binds = name == "--gpu-bind" && value != "none" && value != "closest";
  if (name == "--gpus-per-task" || binds) {
    return CannotFold(kind, name,
                      "each rank would see one GPU only; let each rank see the GPUs of its server "
                      "and choose by SLURM_LOCALID");
  }
  if (name == "--export") {
    for (const std::string_view word : base::Split(value, ',')) TakeVariable(word, read);
  }
  return {};
}

}  // namespace

std::span<const LauncherKind> LauncherKinds() { return kKinds; }

Result<void> TakeOption(const LauncherKind& kind, std::string_view name, const std::string& value,
                        LauncherCommand* read) {
  if (name == "--module") read->is_module = true;
  if (name == "--no-python") read->is_python = false;
  switch (kind.variables) {
    case RankVariables::kTorchrun:
      if (name == "--nproc-per-node") read->ranks_per_server = value;
      if (name == "--num-processes") read->ranks = value;
      if (name == "--cpu" || name == "--tpu") return CannotFold(kind, name, "it uses no GPU");
      return {};
    case RankVariables::kDeepSpeed:
      if (name == "--num-gpus" || name == "--num-accelerators") read->ranks_per_server = value;
      if (name == "--no-local-rank") read->passes_local_rank = false;
      if (name == "--include" || name == "--exclude" || name == "--elastic-training") {
        return CannotFold(kind, name, "its ranks are not all GPUs of all servers");
      }
      if (name == "--autotuning") return CannotFold(kind, name, "it runs several jobs");
      return {};
    case RankVariables::kSlurm:
      return TakeOfSrun(kind, name, value, read);
    case RankVariables::kOpenMpi:
      if (name == "--np" || name == "--n") read->ranks = value;
      if (name == "--npernode") read->ranks_per_server = value;
      if (name == "--x") TakeVariable(value, read);
      return {};
  }
  return {};
}

std::vector<std::string> WrapperOf(std::span<const std::string> head,
                                   std::span<const std::string> options) {
  std::vector<std::string> wrapper(head.begin(), head.end());
  for (std::size_t at = 0; at < options.size(); ++at) {
    std::string name = options[at].substr(0, options[at].find('='));
    std::ranges::replace(name, '-', '_');
    const bool is_count = name == "__num_processes" || name == "__num_machines" ||
                          name == "__machine_rank" || name == "__main_process_port";
    // accelerate refuses --multi_gpu for one process, and --no_python for a module.
    const bool is_dropped = is_count || name == "__multi_gpu" || name == "__module" ||
                            name == "_m" || name == "__no_python" || name == "__";
    if (!is_dropped) wrapper.push_back(options[at]);
    if (is_count && options[at].find('=') == std::string::npos) ++at;
  }
  for (const std::string_view word :
       {"--num_processes", "1", "--num_machines", "1", "--machine_rank", "0", "--main_process_port",
        "0", "--no_python"}) {
    wrapper.emplace_back(word);
  }
  return wrapper;
}

}  // namespace eidolon::agent::launch
