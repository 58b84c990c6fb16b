// Parts of the text report: on what, how much work, what takes longest, memory, and what simulated
// it. Each is whole lines, and empty where the document does not tell. Internal to this folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace eidolon::cli {

// GPU, servers, network, and how many of the GPUs there are the program has used.
std::string FormatTarget(const nlohmann::json& job);
// "7 of 8 GPUs are unused..."; empty while the job runs, and where all are used.
std::string DescribeIdleGpus(const nlohmann::json& job);
// "measured, 1.25 times as fast as this machine": whose processor the program's own work was timed
// for; empty where it is not known.
std::string DescribeHostTime(const nlohmann::json& prediction);

// The whole job's in the steady state: "53 916 tokens/s"; `unknown` where nothing was measured.
std::string DescribeThroughput(const nlohmann::json& prediction, const std::string& unknown);
// Its band: "90 % band 51 800 to 56 200"; empty where there is none.
std::string DescribeThroughputBand(const nlohmann::json& prediction);
// Returns why the throughput is not in tokens or samples, and what to do; empty where it is.
std::string DescribeMissingUnit(const nlohmann::json& prediction);
// A line for each kind of work that only some iterations do, with its cost; then the mean of all.
std::vector<std::string> DescribeExtraWork(const nlohmann::json& prediction);
std::string FormatThroughput(const nlohmann::json& prediction);
// Returns how many samples an iteration has, or where the number of tokens comes from, if not from
// the job alone; empty otherwise.
std::string DescribeTokens(const nlohmann::json& prediction);
// Prints what a step costs, and a million tokens or a thousand samples where their number is known.
// `price`: of a GPU for an hour, in any currency.
std::string FormatPrice(const nlohmann::json& prediction, double price);
std::string FormatMatrixRate(const nlohmann::json& prediction);
// Prints what the GPUs draw; it is empty where that is not known.
std::string FormatEnergy(const nlohmann::json& prediction);
std::string FormatKernels(const nlohmann::json& prediction);
std::string FormatMemory(const nlohmann::json& prediction);
// Formats the cost of the job's status.
std::string FormatCost(const nlohmann::json& status);

// "8 x 400 Gbit/s a server, rail-optimised; NVLink 4 with switches": of a cluster.
std::string DescribeGpu(const nlohmann::json& server);
std::string DescribeNetwork(const nlohmann::json& cluster, bool has_several_servers);
// "2 processors, 97.1 % busy"; empty where it is not known.
std::string DescribeMachine(const nlohmann::json& status);

}  // namespace eidolon::cli
