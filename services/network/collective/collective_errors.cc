// Prints the cost model beside published logs: `eidolon-collective-errors [--rows]
// [nccl_logs.csv]`.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "services/network/collective/logs.h"

namespace {

using eidolon::network::collective::LogRow;

struct Sum {
  double absolute = 0;
  double plain = 0;
  int rows = 0;

  void Add(double error) {
    absolute += std::fabs(error);
    plain += error;
    ++rows;
  }
};

void PrintCell(const Sum& sum) {
  if (sum.rows == 0) {
    std::printf(" %18s", "-");
  } else {
    std::printf("  %5.1f %% (%+6.1f %%)", 100 * sum.absolute / sum.rows,
                100 * sum.plain / sum.rows);
  }
}

void PrintRow(const LogRow& row, double modelled) {
  std::printf(
      "%-5s %-14s %2ux%u %12llu B  measured %10.1f us %6.1f GB/s  model %10.1f us (%+.1f %%)\n",
      row.gpu.c_str(), std::string(Name(row.kind)).c_str(), row.nodes, row.members_per_node,
      static_cast<unsigned long long>(row.bytes), row.measured_us,
      BusBandwidth(row, row.measured_us), modelled, 100 * (modelled / row.measured_us - 1));
}

}  // namespace

int main(int argc, char** argv) {
  bool rows_wanted = false;
  std::string path = "services/network/collective/nccl_logs.csv";
  for (int at = 1; at < argc; ++at) {
    if (std::strcmp(argv[at], "--rows") == 0) {
      rows_wanted = true;
    } else {
      path = argv[at];
    }
  }
  const auto rows = eidolon::network::collective::LoadLogs(path);
  if (!rows) {
    std::fprintf(stderr, "eidolon-collective-errors: %s\n", rows.error().message.c_str());
    return 1;
  }
  std::map<std::tuple<std::string, std::string, unsigned, unsigned>, Sum[3]> table;
  for (const LogRow& row : *rows) {
    const double modelled = ModelledUs(row);
    if (rows_wanted) PrintRow(row, modelled);
    const int column = row.bytes <= 64 * 1024 ? 0 : row.bytes <= 16 * 1024 * 1024 ? 1 : 2;
    table[{row.gpu, std::string(Name(row.kind)), row.nodes, row.members_per_node}][column].Add(
        modelled / row.measured_us - 1);
  }
  std::printf("mean absolute (and mean) error of the model\n%-28s %18s %18s %18s\n", "",
              "<= 64 KiB", "<= 16 MiB", "> 16 MiB");
  for (const auto& [key, sums] : table) {
    const auto& [gpu, kind, nodes, members] = key;
    std::printf("%-5s %-14s %3ux%-3u", gpu.c_str(), kind.c_str(), nodes, members);
    for (const Sum& sum : sums) PrintCell(sum);
    std::printf("\n");
  }
  return 0;
}
