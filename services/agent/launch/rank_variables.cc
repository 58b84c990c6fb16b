// Live ranks start without their launcher, and a program reads its rank from whatever that launcher
// sets. The values must describe the whole job, mirrored ranks included, or a program would compute
// its parallel groups for a smaller one. Torchrun's variables are set in any case, so a program may
// read either.
#include "services/agent/launch/rank_variables.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::StrCat;

constexpr auto kNames = std::to_array<std::pair<RankVariables, std::string_view>>({
    {RankVariables::kTorchrun, "torchrun"},
    {RankVariables::kDeepSpeed, "deepspeed"},
    {RankVariables::kSlurm, "slurm"},
    {RankVariables::kOpenMpi, "openmpi"},
});

void AddTorchrun(const RankPlace& place, Variables* variables) {
  const auto add = [&](const char* name, auto value) {
    variables->emplace_back(name, StrCat(value));
  };
  add("RANK", place.rank);
  add("LOCAL_RANK", place.local_rank());
  add("WORLD_SIZE", place.ranks);
  add("LOCAL_WORLD_SIZE", place.ranks_per_server);
  add("GROUP_RANK", place.server());
  add("GROUP_WORLD_SIZE", place.servers());
  add("ROLE_RANK", place.rank);
  add("ROLE_WORLD_SIZE", place.ranks);
  add("ROLE_NAME", "default");
  add("TORCHELASTIC_RESTART_COUNT", 0);
  add("TORCHELASTIC_MAX_RESTARTS", 0);
  add("TORCHELASTIC_RUN_ID", "none");
  add("TORCHELASTIC_USE_AGENT_STORE", "True");
  constexpr const char* kErrorHandling = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  if (std::getenv(kErrorHandling) == nullptr) add(kErrorHandling, 1);  // The job's own value wins.
  // A Gloo group connects its members when it is used, not when it is made: many programs make
  // groups that they use for checkpoints alone.
  add("TORCH_GLOO_LAZY_INIT", 1);
}

// deepspeed.launcher.launch.
void AddDeepSpeed(const RankPlace& place, Variables* variables) {
  std::string devices;
  for (std::uint32_t device = 0; device < place.ranks_per_server; ++device) {
    devices += StrCat(device > 0 ? "," : "", device);
  }
  variables->emplace_back("CUDA_VISIBLE_DEVICES", devices);
  variables->emplace_back("CROSS_RANK", StrCat(place.server()));
  variables->emplace_back("CROSS_SIZE", StrCat(place.servers()));
  variables->emplace_back("LOCAL_SIZE", StrCat(place.ranks_per_server));
}

// srun's manual, "output environment variables"; hosts are numbered.
void AddSlurm(const RankPlace& place, Variables* variables) {
  const auto add = [&](const char* name, auto value) {
    variables->emplace_back(name, StrCat(value));
  };
  const std::string hosts =
      place.servers() > 1 ? StrCat("server[0-", place.servers() - 1, "]") : "server0";
  const std::string tasks = place.servers() > 1
                                ? StrCat(place.ranks_per_server, "(x", place.servers(), ")")
                                : StrCat(place.ranks_per_server);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) add(name, 1);
  add("SLURM_STEP_ID", 0);
  add("SLURM_PROCID", place.rank);
  add("SLURM_LOCALID", place.local_rank());
  add("SLURM_NODEID", place.server());
  for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"}) {
    add(name, place.ranks);
  }
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"}) {
    add(name, place.servers());
  }
  add("SLURM_NTASKS_PER_NODE", place.ranks_per_server);
  for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"}) add(name, tasks);
  for (const char* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"}) {
    add(name, hosts);
  }
  add("SLURMD_NODENAME", StrCat("server", place.server()));
}

void AddOpenMpi(const RankPlace& place, Variables* variables) {
  const auto add = [&](const char* name, std::uint32_t value) {
    variables->emplace_back(name, StrCat(value));
  };
  add("OMPI_COMM_WORLD_RANK", place.rank);
  add("OMPI_COMM_WORLD_SIZE", place.ranks);
  add("OMPI_COMM_WORLD_LOCAL_RANK", place.local_rank());
  add("OMPI_COMM_WORLD_LOCAL_SIZE", place.ranks_per_server);
  add("OMPI_COMM_WORLD_NODE_RANK", place.local_rank());
  add("OMPI_UNIVERSE_SIZE", place.ranks);
  add("PMIX_RANK", place.rank);
}

}  // namespace

Variables RankEnvironment(const RankPlace& place, RankVariables variables) {
  Variables all;
  AddTorchrun(place, &all);
  switch (variables) {
    case RankVariables::kTorchrun:
      break;
    case RankVariables::kDeepSpeed:
      AddDeepSpeed(place, &all);
      break;
    case RankVariables::kSlurm:
      AddSlurm(place, &all);
      break;
    case RankVariables::kOpenMpi:
      AddOpenMpi(place, &all);
      break;
  }
  return all;
}

std::string_view Name(RankVariables variables) {
  for (const auto& [known, name] : kNames) {
    if (known == variables) return name;
  }
  return "";
}

std::optional<RankVariables> RankVariablesOf(std::string_view name) {
  for (const auto& [known, its_name] : kNames) {
    if (its_name == name) return known;
  }
  return std::nullopt;
}

}  // namespace eidolon::agent::launch
