#include "services/controller/cluster_message.h"

namespace eidolon::controller {

void FillCluster(const job::ClusterSpec& spec, const std::string& name, common::v1::Cluster* out) {
  out->set_name(name);
  out->set_servers(spec.servers);
  out->set_gpus_per_server(spec.gpus_per_server);
  out->set_gpu(spec.gpu);
  out->mutable_nvlink()->set_generation(spec.nvlink_generation);
  out->mutable_nvlink()->set_switched(spec.nvlink_switched);
  out->mutable_nics()->set_count(spec.nic_count);
  out->mutable_nics()->set_gigabits_per_second(spec.nic_gigabits_per_second);
  out->mutable_nics()->set_latency_microseconds(spec.nic_latency_microseconds);
  out->mutable_fabric()->set_preset(spec.fabric_preset);
  out->mutable_fabric()->set_oversubscription(spec.oversubscription);
  out->set_cpu_speed_ratio(spec.cpu_speed_ratio);
  out->set_driver_version(spec.driver_version);
  out->set_nccl_version(spec.nccl_version);
}

}  // namespace eidolon::controller
