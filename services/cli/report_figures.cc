// Functions named Describe... return a phrase, which other tables of this command use as well, and
// those named Format... return whole lines. Each copes with documents of earlier versions, which
// have fewer fields, and is empty where there is nothing to say. Prices are computed here and not
// by the controller, because they do not belong to a prediction: they are seconds times GPUs times
// the price of an hour, in whatever currency the user means.
#include "services/cli/report_figures.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {

using base::StrCat;
using controller::job::FormatBytes;
using controller::shown::At;
using controller::shown::BytesAt;
using controller::shown::CountAt;
using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::Headline;
using controller::shown::HeadlineOf;
using controller::shown::KernelTitle;
using controller::shown::Line;
using controller::shown::NumberAt;
using controller::shown::Percent;
using controller::shown::PhaseOf;
using controller::shown::Print;
using controller::shown::TextAt;
using nlohmann::json;

namespace {

// Formats with four digits at least.
std::string FormatRate(double rate) {
  return rate >= 1000 ? FormatCount(rate) : Print("%.4g", rate);
}

bool IsOver(const json& job) {
  const std::string phase = PhaseOf(job);
  return phase == "Complete" || phase == "Failed" || phase == "Interrupted";
}

// Returns what lies in the allocations, as far as it is known.
std::string FormatAllocations(const json& memory) {
  const json& parts = At(memory, {"allocations"});
  if (!parts.is_object()) return "";
  std::string text = "of the program: ";
  for (const auto& [key, title] : std::to_array<std::pair<const char*, const char*>>(
           {{"parameters", "parameters "},
            {"gradients", "gradients "},
            {"optimizerState", "optimizer state "},
            {"activations", "activations at most "}})) {
    if (parts.contains(key)) text += StrCat(title, BytesAt(parts, {key}), ", ");
  }
  const bool has_activations = parts.contains("activations");
  text += StrCat(has_activations ? "other " : "activations and other ", BytesAt(parts, {"other"}));
  std::string source;
  if (parts.contains("parameters")) {
    source = "derived from what the optimizer's kernels update, read and keep";
  }
  if (has_activations) {
    source += StrCat(source.empty() ? "derived " : ", and ",
                     "from what backward passes free in PyTorch's allocator");
  }
  return Line("", text) + (source.empty() ? "" : Line("", StrCat("(", source, ")")));
}

}  // namespace

std::string DescribeGpu(const json& server) {
  const double clock = NumberAt(server, {"gpuClock"});
  const std::string gpu = TextAt(server, {"gpu"});
  // So are GPUs with fixed durations called (services/timing/gpu_model/gpu_model.h).
  const bool fixed = gpu.starts_with("fixed-");
  const double watts = NumberAt(server, {"powerLimit"});
  return StrCat(gpu, clock > 0 ? Print(" at %.3g of its clock", clock) : "",
                watts > 0 ? Print(" limited to %.0f W", watts) : "",
                fixed ? " (fixed durations: not a prediction)" : "");
}

std::string DescribeNetwork(const json& cluster, bool has_several_servers) {
  const json& server = At(cluster, {"server"});
  std::string text;
  const double nics = NumberAt(server, {"nics", "count"});
  if (has_several_servers && nics > 0) {
    text = StrCat(TextAt(cluster, {"fabric", "preset"}), ", ", FormatCount(nics), " x ",
                  FormatCount(NumberAt(server, {"nics", "gbps"})), " Gbit/s a server");
  }
  const std::int64_t generation = CountAt(server, {"nvlink", "generation"});
  if (generation > 0) text += StrCat(text.empty() ? "" : ", ", "NVLink ", generation);
  return text;
}

std::string FormatTarget(const json& job) {
  const json& target = At(job, {"status", "prediction", "target"});
  const json& server = At(target, {"cluster", "server"});
  if (!server.is_object()) return "";
  const std::int64_t servers = CountAt(target, {"servers"});
  std::string text =
      StrCat(DescribeGpu(server), "   ", servers, servers == 1 ? " server x " : " servers x ",
             CountAt(server, {"gpusPerServer"}), " GPUs, ",
             FormatCount(NumberAt(target, {"ranks"})), " ranks");
  const std::string network = DescribeNetwork(At(target, {"cluster"}), servers > 1);
  if (!network.empty()) text += "   " + network;
  const std::string idle = DescribeIdleGpus(job);
  return Line("on", text) + (idle.empty() ? "" : Line("unused", idle));
}

std::string DescribeIdleGpus(const json& job) {
  const json& target = At(job, {"status", "prediction", "target"});
  if (!IsOver(job) || !At(target, {"usedGpus"}).is_number()) return "";
  const std::int64_t gpus = CountAt(target, {"gpus"});
  const std::int64_t used = CountAt(target, {"usedGpus"});
  if (used >= gpus) return "";
  if (used == 0) return StrCat("all ", gpus, " GPUs: the program has reserved memory on none");
  return StrCat(gpus - used, " of ", gpus, " GPUs: the program has reserved memory on ", used,
                " only");
}

// Documents of earlier versions have tokens alone.
std::string DescribeThroughput(const json& prediction, const std::string& unknown) {
  const double rate = NumberAt(prediction, {"throughput", "perSecond"});
  if (rate > 0)
    return StrCat(FormatRate(rate), " ", TextAt(prediction, {"throughput", "unit"}), "/s");
  const double tokens = NumberAt(prediction, {"tokensPerSecond"});
  return tokens > 0 ? FormatRate(tokens) + " tokens/s" : unknown;
}

std::string DescribeThroughputBand(const json& prediction) {
  const double low = NumberAt(prediction, {"throughput", "low"});
  const double high = NumberAt(prediction, {"throughput", "high"});
  if (low <= 0) return "";
  return StrCat("90 % band ", FormatRate(low),
                high > 0 ? StrCat(" to ", FormatRate(high)) : " or more");
}

std::string DescribeMissingUnit(const json& prediction) {
  if (TextAt(prediction, {"throughput", "unit"}) != "iterations") return "";
  const std::string reason = TextAt(prediction, {"tokensNotDerived"});
  return StrCat("tokens/s and samples/s are unknown", reason.empty() ? "" : ": " + reason,
                "; declare --tokens or --samples");
}

std::vector<std::string> DescribeExtraWork(const json& prediction) {
  std::vector<std::string> lines;
  for (const json& extra : At(prediction, {"extraWork"})) {
    const std::int64_t every = CountAt(extra, {"every"});
    const std::string when = every > 0
                                 ? StrCat(" every ", every, every == 1 ? " step" : " steps")
                                 : StrCat(" in ", CountAt(extra, {"times"}), " of ",
                                          CountAt(prediction, {"measuredIterations"}), " steps");
    lines.push_back(StrCat("+ ", TextAt(extra, {"what"}), when, ": ",
                           FormatSeconds(NumberAt(extra, {"secondsPerIteration"})),
                           " a step on average, ", FormatSeconds(NumberAt(extra, {"seconds"})),
                           " each time"));
  }
  if (!lines.empty()) {
    lines.push_back(StrCat("mean of all measured steps: ",
                           FormatSeconds(NumberAt(prediction, {"iterationSeconds", "mean"}))));
  }
  return lines;
}

std::string FormatThroughput(const json& prediction) {
  std::string throughput = DescribeThroughput(prediction, "");
  if (throughput.empty()) return "";
  const std::string band = DescribeThroughputBand(prediction);
  if (!band.empty()) throughput += "   " + band;
  const double utilization = NumberAt(prediction, {"modelFlopsUtilization"});
  if (utilization > 0) throughput += "   model FLOPs utilization " + Percent(utilization);
  if (TextAt(prediction, {"modelFlopsSource"}) == "derived") throughput += " (derived)";
  const std::string missing = DescribeMissingUnit(prediction);
  const std::string note = missing.empty() ? DescribeTokens(prediction) : "";
  return Line("throughput", throughput + (note.empty() ? "" : "   " + note)) +
         (missing.empty() ? "" : Line("", missing));
}

std::string FormatPrice(const json& prediction, double price) {
  constexpr double kSecondsPerHour = 3600;
  const double gpus = NumberAt(prediction, {"target", "gpus"});
  const Headline headline = HeadlineOf(prediction);
  if (price <= 0 || gpus <= 0 || headline.seconds <= 0) return "";
  const double per_second = price * gpus / kSecondsPerHour;
  std::string text = StrCat(Print("%.4g", per_second * headline.seconds),
                            headline.is_iteration ? " a step" : " in all");
  const std::string unit = TextAt(prediction, {"throughput", "unit"});
  const double rate = NumberAt(prediction, {"throughput", "perSecond"});
  if (rate > 0 && unit == "tokens") {
    text += StrCat("   ", Print("%.4g", per_second / rate * 1e6), " a million tokens");
  } else if (rate > 0 && unit == "samples") {
    text += StrCat("   ", Print("%.4g", per_second / rate * 1e3), " a thousand samples");
  }
  return Line("cost", StrCat(text, "   at ", Print("%.4g", price), " a GPU and hour, ",
                             FormatCount(gpus), gpus == 1 ? " GPU" : " GPUs"));
}

std::string DescribeTokens(const json& prediction) {
  const json& throughput = At(prediction, {"throughput"});
  if (TextAt(throughput, {"unit"}) == "samples") {
    return StrCat(FormatCount(NumberAt(throughput, {"perIteration"})), " samples an iteration",
                  TextAt(throughput, {"source"}) == "derived" ? ", derived from launches" : "");
  }
  const double tokens = NumberAt(prediction, {"tokensPerIteration"});
  const double derived = NumberAt(prediction, {"tokensDerived"});
  if (TextAt(prediction, {"tokensSource"}) == "derived") {
    return StrCat(FormatCount(tokens), " tokens an iteration, derived from launches");
  }
  if (derived <= 0 || derived == tokens) return "";
  return StrCat("launches tell ", FormatCount(derived), " tokens an iteration, not ",
                FormatCount(tokens));
}

std::string DescribeHostTime(const json& prediction) {
  const json& host = At(prediction, {"hostTime"});
  if (!host.is_object()) return "";
  std::string text = TextAt(host, {"model"});
  const std::string cpu = TextAt(host, {"cpu"});
  const double ratio = NumberAt(host, {"speedRatio"});
  if (ratio > 0) {
    text += StrCat(", ", Print("%.2f", ratio), " times as fast as this machine");
  } else if (!cpu.empty()) {
    text += StrCat(" for ", cpu);
    if (host.contains("cpuIsUnknown")) text += " (not known which)";
  }
  return text;
}

std::string FormatMatrixRate(const json& prediction) {
  const json& rate = At(prediction, {"matrixFlops"});
  const double flops = NumberAt(rate, {"perGpuAndSecond"});
  if (flops <= 0) return "";
  std::string text = Print("%.1f TFLOP/s a GPU", flops * 1e-12);
  if (NumberAt(rate, {"peakPerSecond"}) > 0) {
    text += StrCat(", ", Percent(NumberAt(rate, {"utilization"})), " of ",
                   Print("%.0f", NumberAt(rate, {"peakPerSecond"}) * 1e-12), " (bf16)");
  }
  return Line("matrix work", StrCat(text, "   ", Print("%.3g", NumberAt(rate, {"perGpu"}) * 1e-12),
                                    " TFLOP counted in GEMMs, convolutions and attention"));
}

std::string FormatEnergy(const json& prediction) {
  const json& energy = At(prediction, {"energy"});
  if (!energy.is_object()) return "";
  const bool is_program = At(prediction, {"program"}).is_object();
  std::string text = Print("%.4g J", NumberAt(energy, {"joules"}));
  text += is_program ? " in the program" : " an iteration";
  const std::string unit = TextAt(prediction, {"throughput", "unit"});
  if (unit == "tokens" || unit == "samples") {
    text += StrCat(Print(", %.3g J a ", NumberAt(energy, {"joulesPerUnit"})),
                   unit.substr(0, unit.size() - 1));
  }
  return Line("energy", StrCat(text, Print("   %.0f W a GPU", NumberAt(energy, {"meanWatts"})),
                               Print(", peak %.0f W", NumberAt(energy, {"peakWatts"}))));
}

std::string FormatKernels(const json& prediction) {
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kNameMax = 64;
  const json& kernels = At(prediction, {"kernels"});
  double total = 0;
  for (const json& kernel : kernels) total += NumberAt(kernel, {"seconds"});
  if (total <= 0) return "";
  std::string text;
  std::size_t shown = 0;
  for (const json& kernel : kernels) {
    if (++shown > kShown) break;
    std::string name = TextAt(kernel, {"operator"});
    if (name.empty()) {
      name = TextAt(kernel, {TextAt(kernel, {"name"}) == "collective" ? "family" : "name"});
    }
    std::string share = Percent(NumberAt(kernel, {"seconds"}) / total);
    share.insert(0, std::max<std::size_t>(share.size(), 8) - share.size(), ' ');
    const double count = NumberAt(kernel, {"launches"});
    text += Line(shown == 1 ? "longest" : "",
                 StrCat(share, "  ", KernelTitle(name, kNameMax),
                        count > 0 ? StrCat("   ", FormatCount(count), " x") : "", "   ",
                        TextAt(kernel, {"source"})));
  }
  return text;
}

std::string FormatMemory(const json& prediction) {
  const json& memory = At(prediction, {"memory"});
  if (!memory.is_object()) return "";
  const json& fits = At(memory, {"fits"});
  std::string text =
      Line("peak memory",
           StrCat(BytesAt(memory, {"peakReservedBytes"}), " of ",
                  BytesAt(memory, {"capacityBytes"}), " on rank ", CountAt(memory, {"worstRank"}),
                  fits.is_boolean() && !fits.get<bool>() ? "   DOES NOT FIT" : "   fits"));
  if (At(memory, {"byCategory"}).is_object()) {
    text += Line("", StrCat("program ", BytesAt(memory, {"byCategory", "allocations"}),
                            ", workspace ", BytesAt(memory, {"byCategory", "workspace"}), ", NCCL ",
                            BytesAt(memory, {"byCategory", "nccl"}), ", context ",
                            BytesAt(memory, {"byCategory", "context"})));
  }
  text += FormatAllocations(memory);
  const json& ranks = At(memory, {"ranks"});
  std::string each;
  for (const json& rank : ranks) {
    if (!each.empty()) each += "  ";
    const bool uses_several = At(rank, {"device"}).is_number();
    each += StrCat(CountAt(rank, {"rank"}),
                   uses_several ? StrCat(" GPU ", CountAt(rank, {"device"})) : "", ": ",
                   BytesAt(rank, {"peakReservedBytes"}));
    if (each.size() > 300) break;
  }
  return ranks.size() > 1 ? text + Line("  by rank", each) : text;
}

std::string DescribeMachine(const json& status) {
  const json& machine = At(status, {"simulation", "machine"});
  const std::int64_t processors = CountAt(machine, {"processors"});
  if (processors == 0) return "";
  return StrCat(processors, processors == 1 ? " processor, " : " processors, ",
                Percent(NumberAt(machine, {"busyShare"})), " busy");
}

std::string FormatCost(const json& status) {
  const double wall = NumberAt(status, {"simulation", "wallSeconds"});
  if (wall <= 0) return "";
  const double virtual_seconds = NumberAt(status, {"progress", "virtualSeconds"});
  std::string text = StrCat(FormatSeconds(wall), " wall");
  if (virtual_seconds > 0) text += StrCat(" for ", FormatSeconds(virtual_seconds), " virtual");
  const double slowdown = NumberAt(status, {"simulation", "slowdown"});
  if (slowdown > 0) text += Print(": slow-down %.2f", slowdown);
  const std::string machine = DescribeMachine(status);
  if (!machine.empty()) text += "   on " + machine;
  return Line("simulation", text);
}

}  // namespace eidolon::cli
