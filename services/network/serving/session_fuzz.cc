// Fuzzes what agents send: the input is a sequence of (server, length, SessionRequest).
#include <cstddef>
#include <cstdint>

#include "services/network/serving/session_work.h"
#include "services/network/simulation/simulation.h"

namespace {

namespace network = eidolon::network;

class Silent final : public network::simulation::Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t, const network::communicator::Notice&) override {}
  void Ended(network::collective::Algorithm, network::collective::Protocol) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Silent listener;
  auto topology = network::topology::Topology::Make({.name = "c",
                                                     .servers = 2,
                                                     .gpus_per_server = 2,
                                                     .gpu = "H100",
                                                     .nvlink_generation = 4,
                                                     .nvlink_switched = true,
                                                     .nics = 2,
                                                     .nic_gigabits_per_second = 400,
                                                     .nic_latency_microseconds = 0,
                                                     .fabric = "leaf-spine",
                                                     .oversubscription = 2});
  network::simulation::Simulation simulation(std::move(*topology), listener);
  simulation.AddJob(1, {.placement = {0, 1}});
  bool connected[2] = {};
  for (std::uint32_t server : {0u, 1u}) {
    connected[server] = simulation.Connect(1, server).has_value();
  }
  while (size >= 2) {
    const std::uint32_t server = data[0] & 1;
    const std::size_t length = data[1] < size - 2 ? data[1] : size - 2;
    network::v1::SessionRequest request;
    const bool parsed = request.ParseFromArray(data + 2, static_cast<int>(length));
    data += 2 + length;
    size -= 2 + length;
    if (!parsed || !connected[server]) continue;
    if (!network::serving::Do(request, 1, server, simulation)) {
      simulation.Disconnect(1, server);
      connected[server] = false;
    }
    simulation.Progress();
    if (simulation.Stuck()) simulation.ReportDeadlock();
  }
  simulation.RemoveJob(1);
  return 0;
}
