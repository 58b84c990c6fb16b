// These commands call the library of the network service directly, without a service or a job: they
// serve to check the model by itself. Where a cluster is needed, it is a preset's name or a file.
// `validate` prints the model's errors against published logs, which are part of the program, and
// with --fit the table of corrections that is compiled into the model, so both can be reproduced.
#include "services/cli/net/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "services/base/regular_file.h"
#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/net/bench_table.h"
#include "services/cli/net/collective_table.h"
#include "services/cli/net/flows.h"
#include "services/network/topology/document.h"
#include "services/network/topology/draw.h"
#include "services/network/validation/fit.h"
#include "services/network/validation/report.h"

namespace eidolon::cli::net {
namespace {

using Action = std::function<int()>;

std::string TopologyHelp() {
  return "a file (docs/network_topology.md) or one of " +
         base::Join(network::topology::ClusterPresets(), ", ");
}

namespace validation = network::validation;

int PrintFailure(const base::Error& error) {
  std::fprintf(stderr, "eidolon net: %s\n", error.message.c_str());
  return 1;
}

struct ValidateOptions {
  std::string logs;
  bool rows = false;
  bool fit = false;
};

base::Result<std::string> ReadLogs(const std::string& path) {
  if (path.empty()) return validation::PublishedLogs();
  return base::ReadRegularFile(path);
}

int Validate(const ValidateOptions& options) {
  const auto text = ReadLogs(options.logs);
  if (!text) return PrintFailure(text.error());
  const auto sets = validation::ParseLogSets(*text);
  if (!sets) return PrintFailure(sets.error());
  if (options.fit) {
    base::Print(validation::FormatTable(validation::FitCurves(*sets)));
    return 0;
  }
  const auto errors = validation::Evaluate(*sets);
  base::Print(validation::FormatSummary(errors));
  if (options.rows) base::Print("\n" + validation::FormatRows(errors));
  return 0;
}

void AddValidate(CLI::App* net, Action* action) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* validate =
      net->add_subcommand("validate", "print the model's error against published logs (Markdown)");
  validate->add_option("--logs", options->logs, "logs to use instead of those in the program");
  validate->add_flag("--rows", options->rows, "also every log and every measured size");
  validate->add_flag("--fit", options->fit,
                     "print correction_table.inc fitted to the logs instead");
  validate->callback([options, action] { *action = [options] { return Validate(*options); }; });
}

void AddCollective(CLI::App* net, Action* action) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* collective = net->add_subcommand(
      "collective", "print the time of a collective by size, as nccl-tests does");
  collective
      ->add_option("kind", options->kind,
                   "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, "
                   "gather, scatter or send_recv")
      ->required();
  collective->add_option("--topology", options->topology, TopologyHelp())->capture_default_str();
  collective->add_option("--servers", options->servers, "so many servers of it");
  collective->add_option("--members", options->members, "GPUs of each server that take part");
  collective->add_option("-b,--min-bytes", options->bytes_min, "smallest size")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  collective->add_option("-e,--max-bytes", options->bytes_max, "largest size")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  collective->add_option("-f,--step-factor", options->factor, "factor between sizes")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  collective->add_option("-x,--env", options->environment,
                         "NCCL_NAME=VALUE, as the job's environment has it; can be repeated");
  collective->callback([options, action] {
    *action = [options] {
      const auto table = CollectiveTable(*options);
      if (!table) return PrintFailure(table.error());
      base::Print(*table);
      return 0;
    };
  });
}

struct TopologyOptions {
  std::string topology = "dgx-h100";
  std::uint32_t servers = 0;
  std::string svg;
};

int ShowTopology(const TopologyOptions& options) {
  const auto cluster = FindCluster(options.topology, options.servers);
  if (!cluster) return PrintFailure(cluster.error());
  const auto topology = network::topology::Topology::Make(*cluster);
  if (!topology) return PrintFailure(topology.error());
  base::Print(network::topology::Describe(*topology));
  if (options.svg.empty()) return 0;
  const auto written = base::WriteFile(options.svg, network::topology::Draw(*topology));
  return written ? 0 : PrintFailure(written.error());
}

void AddTopology(CLI::App* net, Action* action) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App* topology = net->add_subcommand("topology", "describe and draw a cluster's network");
  topology->add_option("topology", options->topology, TopologyHelp())->capture_default_str();
  topology->add_option("--servers", options->servers, "so many servers of it");
  topology->add_option("--svg", options->svg, "draw it into this file");
  topology->callback([options, action] { *action = [options] { return ShowTopology(*options); }; });
}

void AddFlows(CLI::App* net, Action* action) {
  auto options = std::make_shared<FlowsOptions>();
  CLI::App* flows = net->add_subcommand(
      "flows", "replay a file of flows (services/network/replay/flow_file.h) and print its speed");
  flows->add_option("file", options->file, "the flows")->required();
  flows->add_option("--dump", options->dump, "write each flow's finish in ns to this file");
  flows->add_option("--limit", options->limit_seconds, "stop after so many processor seconds");
  flows->add_flag("--first-only", options->first_only, "only solve for the flows that start at 0");
  flows->callback([options, action] {
    *action = [options] {
      const auto line = ReplayFlows(*options);
      if (!line) return PrintFailure(line.error());
      base::Print(*line);
      return 0;
    };
  });
}

void AddBench(CLI::App* net, Action* action) {
  auto options = std::make_shared<BenchOptions>();
  auto check = std::make_shared<bool>(false);
  CLI::App* bench = net->add_subcommand("bench", "measure the flow engine beside its goals");
  bench->add_flag("--quick", options->quick, "a tenth of the flows");
  bench->add_flag("--check", *check, "status 1 when a goal is missed");
  bench->callback([options, check, action] {
    *action = [options, check] {
      const BenchTable table = MeasureFlows(*options);
      base::Print(table.text);
      return *check && !table.met ? 1 : 0;
    };
  });
}

}  // namespace

void AddCommands(CLI::App* app, Action* action) {
  CLI::App* net = app->add_subcommand("net", "the network model by itself");
  net->require_subcommand(1);
  AddCollective(net, action);
  AddTopology(net, action);
  AddFlows(net, action);
  AddBench(net, action);
  AddValidate(net, action);
}

}  // namespace eidolon::cli::net
