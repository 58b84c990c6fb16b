#include "services/controller/job/wire/cluster_message.h"

#include "services/contract/cluster/cpu_model.h"

namespace eidolon::controller::job::wire {

void FillCluster(const ClusterSpec& spec, const std::string& name, common::v1::Cluster* out) {
  out->set_name(name);
  out->set_servers(spec.servers);
  out->set_gpus_per_server(spec.gpus_per_server);
  out->set_gpu(spec.gpu);
  if (spec.gpu_clock != 1) out->set_gpu_clock(spec.gpu_clock);
  out->set_gpu_power_limit_watts(spec.gpu_power_limit_watts);
  out->mutable_nvlink()->set_generation(spec.nvlink_generation);
  out->mutable_nvlink()->set_switched(spec.nvlink_switched);
  out->mutable_nics()->set_count(spec.nic_count);
  out->mutable_nics()->set_gigabits_per_second(spec.nic_gigabits_per_second);
  out->mutable_nics()->set_latency_microseconds(spec.nic_latency_microseconds);
  out->mutable_fabric()->set_preset(spec.fabric.kind);
  out->mutable_fabric()->set_oversubscription(spec.fabric.oversubscription);
  out->set_cpu_speed_ratio(spec.cpu_speed_ratio);
  if (const cluster::CpuModel* cpu = cluster::FindCpuModel(spec.cpu)) {
    out->mutable_cpu()->set_model(spec.cpu);
    out->mutable_cpu()->set_speed(cpu->speed);
  }
  out->set_driver_version(spec.driver_version);
  out->set_nccl_version(spec.nccl_version);
}

namespace {

void FillPlan(const ClusterSpec& spec, network::v1::FabricPlan* out) {
  using cluster::FabricSpec;
  const FabricSpec& plan = spec.fabric;
  out->set_servers_per_domain(spec.servers_per_domain);
  out->set_host_bridges(spec.host_bridges);
  out->set_cards_per_leaf(plan.cards_per_leaf);
  out->set_leaves_per_pod(plan.leaves_per_pod);
  if (plan.routing == cluster::Routing::kAdaptive) out->set_merged_spines(plan.spines);
  out->set_servers_per_router(plan.servers_per_router);
  out->set_routers_per_group(plan.routers_per_group);
  out->mutable_dimensions()->Add(plan.dimensions.begin(), plan.dimensions.end());
  out->set_link_gigabits_per_second(plan.link_gigabits_per_second);
  out->mutable_switches()->Add(plan.switches.begin(), plan.switches.end());
  for (const FabricSpec::Cable& cable : plan.cables) {
    network::v1::Cable& added = *out->add_cables();
    added.set_from(cable.a);
    added.set_to(cable.b);
    added.set_gigabits_per_second(cable.gigabits_per_second);
  }
  for (const FabricSpec::Plug& plug : plan.plugs) {
    network::v1::Plug& added = *out->add_plugs();
    added.set_server(plug.server);
    added.set_rail(plug.rail);
    added.set_at(plug.at);
  }
  out->set_in_network_reduction(spec.in_network_reduction);
  out->set_slingshot(spec.slingshot);
}

}  // namespace

void FillFabric(const ClusterSpec& spec, network::v1::RegisterJobRequest* out) {
  FillPlan(spec, out->mutable_plan());
  if (spec.fabric.routing == cluster::Routing::kEcmp) {
    out->set_spines(spec.fabric.spines);
  }
  for (const cluster::Fault& fault : spec.faults) {
    network::v1::LinkFault& added = *out->add_faults();
    added.set_at_seconds(fault.at_seconds);
    added.set_link(fault.link);
    added.set_capacity_factor(fault.capacity_factor);
  }
  for (const cluster::Background& traffic : spec.background) {
    network::v1::BackgroundTraffic& added = *out->add_background();
    added.set_from_server(traffic.from);
    added.set_to_server(traffic.to);
    added.set_rail(traffic.rail);
    added.set_gigabits_per_second(traffic.gigabits_per_second);
    if (traffic.weight != cluster::Background{}.weight) added.set_weight(traffic.weight);
  }
}

}  // namespace eidolon::controller::job::wire
