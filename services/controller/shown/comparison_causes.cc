// The parts of the breakdown add up to the time, so the differences of the parts add up to its
// difference. For computation a kernel's difference is split exactly: (n2 - n1) * t1 for the number
// of launches and n2 * (t2 - t1) for their length, with n launches of mean length t. The sum of all
// causes may miss the difference, because kernels overlap and long lists are cut; the rest is
// reported as unexplained and never distributed. Kernels are grouped by family, so that a kernel
// that replaces another one is one cause and not two. Seconds are those of an iteration and rank.
#include "services/controller/shown/comparison_causes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/controller/job/status.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/printable.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::controller::shown {
namespace {

using base::StrCat;
using nlohmann::json;

// Differences below are of the arithmetic, not of the jobs.
constexpr double kLeastPart = 1e-9;
constexpr std::size_t kTitleMax = 56;
constexpr std::size_t kSettingMax = 40;
constexpr std::size_t kPathsMax = 64;  // Of one cause and job.

std::string Signed(double seconds) {
  return StrCat(FormatSeconds(std::abs(seconds)), seconds < 0 ? " less" : " more");
}

std::string Quantity(double count) { return FormatCount(std::round(count * 100) / 100); }

std::string ValueOf(const json& value) {
  if (value.is_null()) return "none";
  const std::string text = value.is_string()
                               ? value.get<std::string>()
                               : value.dump(-1, ' ', false, json::error_handler_t::replace);
  return ToPrintableLine(text.size() <= kSettingMax ? text : Beginning(text, kSettingMax) + "...");
}

// Entry of one job's document about one kernel.
struct Launched {
  double seconds = 0;   // Of an iteration and rank.
  double launches = 0;  // The same; 0: not told.
  std::vector<std::string> paths;
};

struct Kernel {
  std::string name;
  std::string operator_name;  // Empty: not known.
  std::string family;
  std::array<Launched, 2> of;
};

struct Kernels {
  std::vector<Kernel> work;
  std::vector<Kernel> collectives;
};

void AddKernels(const json& job, std::size_t which, std::map<std::string, Kernel>* kernels) {
  const json& prediction = At(job, {"status", "prediction"});
  const json& listed = At(prediction, {"kernels"});
  if (!listed.is_array()) return;
  const auto ranks =
      static_cast<double>(std::max<std::int64_t>(CountAt(prediction, {"target", "ranks"}), 1));
  for (std::size_t at = 0; at < listed.size(); ++at) {
    const std::string name = TextAt(listed[at], {"name"});
    const std::string family = TextAt(listed[at], {"family"});
    const bool is_collective = name == "collective";
    // "collective" goes first, so that no kernel's name meets it.
    Kernel& kernel = (*kernels)[StrCat(is_collective ? "0" : "1", is_collective ? family : name)];
    kernel.name = is_collective ? family : name;
    if (!is_collective) kernel.operator_name = TextAt(listed[at], {"operator"});
    if (kernel.family.empty()) kernel.family = is_collective ? "" : family;
    Launched& launched = kernel.of[which];
    launched.seconds += NumberAt(listed[at], {"seconds"}) / ranks;
    launched.launches += NumberAt(listed[at], {"launches"}) / ranks;
    launched.paths.push_back(StrCat("status.prediction.kernels[", at, "]"));
  }
}

Kernels KernelsOf(const Compared& compared) {
  std::map<std::string, Kernel> all;
  for (std::size_t i = 0; i < 2; ++i) AddKernels(*compared.jobs[i], i, &all);
  Kernels kernels;
  for (auto& [key, kernel] : all) {
    (key.front() == '0' ? kernels.collectives : kernels.work).push_back(std::move(kernel));
  }
  return kernels;
}

struct Cause {
  std::string cause;
  double seconds = 0;
  std::string sentence;
  std::array<std::vector<std::string>, 2> paths;
  std::vector<std::string> settings;
};

// Fields that differ and whose paths begin with one of these, as "; cluster.server.gpu: A, not B".
void AddSettings(const json& fields, std::initializer_list<std::string_view> beginnings,
                 Cause* cause) {
  for (const json& field : fields) {
    const std::string path = TextAt(field, {"path"});
    const bool bears = std::ranges::any_of(
        beginnings, [&](std::string_view beginning) { return path.starts_with(beginning); });
    if (!bears) continue;
    cause->settings.push_back(path);
    constexpr std::size_t kTold = 3;
    if (cause->settings.size() > kTold) continue;
    cause->sentence += StrCat("; ", ToPrintableLine(path), " is ", ValueOf(At(field, {"second"})),
                              ", not ", ValueOf(At(field, {"first"})));
  }
}

std::string TitleOf(const Kernel& kernel) {
  const bool has_operator = !kernel.operator_name.empty();
  return ToPrintableLine(KernelTitle(has_operator ? kernel.operator_name : kernel.name, kTitleMax));
}

// The kernels of one family whose times differ for one reason.
struct Group {
  std::vector<std::pair<double, const Kernel*>> parts;  // Seconds more.
};

std::string Examples(const Group& group) {
  constexpr std::size_t kShown = 2;
  auto parts = group.parts;
  std::ranges::stable_sort(parts, std::greater(),
                           [](const auto& part) { return std::abs(part.first); });
  std::vector<std::string> titles;  // Several kernels may be of one operator.
  for (const auto& [seconds, kernel] : parts) {
    std::string title = TitleOf(*kernel);
    if (std::ranges::find(titles, title) == titles.end()) titles.push_back(std::move(title));
    if (titles.size() > kShown) break;
  }
  std::string text;
  for (std::size_t at = 0; at < std::min(titles.size(), kShown); ++at) {
    text += StrCat(at == 0 ? "" : ", ", titles[at]);
  }
  return titles.size() > kShown ? text + ", ..." : text;
}

std::string KernelCount(std::size_t count) {
  return StrCat(count, count == 1 ? " kernel" : " kernels");
}

double Launches(const Group& group, std::size_t which) {
  double sum = 0;
  for (const auto& [seconds, kernel] : group.parts) sum += kernel->of[which].launches;
  return sum;
}

Cause CauseOf(const char* name, const Group& group) {
  Cause cause{.cause = name};
  for (const auto& [seconds, kernel] : group.parts) {
    cause.seconds += seconds;
    for (std::size_t i = 0; i < 2; ++i) {
      for (const std::string& path : kernel->of[i].paths) {
        if (cause.paths[i].size() < kPathsMax) cause.paths[i].push_back(path);
      }
    }
  }
  return cause;
}

// One family's kernels, by what differs of them.
struct Family {
  Group appeared;
  Group gone;
  Group counted;  // Launched more or less often.
  Group timed;    // Launches that take longer or shorter.
};

void SortInto(const Kernel& kernel, Family* family) {
  const auto& [first, second] = kernel.of;
  const double difference = second.seconds - first.seconds;
  if (first.paths.empty()) {
    family->appeared.parts.emplace_back(difference, &kernel);
    return;
  }
  if (second.paths.empty()) {
    family->gone.parts.emplace_back(difference, &kernel);
    return;
  }
  const bool is_counted = first.launches > 0 && second.launches > 0;
  const double by_count =
      is_counted ? (second.launches - first.launches) * (first.seconds / first.launches) : 0;
  const double least = kLeastPart * std::max(first.seconds, second.seconds);
  if (std::abs(by_count) > least) family->counted.parts.emplace_back(by_count, &kernel);
  const double by_time = difference - by_count;
  if (std::abs(by_time) > least) family->timed.parts.emplace_back(by_time, &kernel);
}

void AddPresence(const std::string& title, const Family& family, std::vector<Cause>* causes) {
  const Group& appeared = family.appeared;
  const Group& gone = family.gone;
  if (appeared.parts.empty() && gone.parts.empty()) return;
  const bool is_replaced = !appeared.parts.empty() && !gone.parts.empty();
  Group both = gone;
  both.parts.insert(both.parts.end(), appeared.parts.begin(), appeared.parts.end());
  Cause cause = CauseOf(is_replaced              ? "kernelsReplaced"
                        : appeared.parts.empty() ? "kernelsGone"
                                                 : "kernelsNew",
                        both);
  if (is_replaced) {
    cause.sentence = StrCat(title, ": ", KernelCount(appeared.parts.size()), " of B alone (",
                            Examples(appeared), ") instead of ", gone.parts.size(), " of A alone (",
                            Examples(gone), ") take ", Signed(cause.seconds));
  } else if (gone.parts.empty()) {
    cause.sentence =
        StrCat(title, ": B has ", KernelCount(appeared.parts.size()), " that A does not have (",
               Examples(appeared), "), which take ", Signed(cause.seconds));
  } else {
    cause.sentence = StrCat(title, ": B no longer has ", KernelCount(gone.parts.size()), " of A (",
                            Examples(gone), "), which makes ", Signed(cause.seconds));
  }
  causes->push_back(std::move(cause));
}

void AddKernelCauses(const std::vector<Kernel>& kernels, const json& fields,
                     std::vector<Cause>* causes) {
  std::map<std::string, Family> families;
  for (const Kernel& kernel : kernels) SortInto(kernel, &families[kernel.family]);
  for (const auto& [name, family] : families) {
    const std::string title =
        name.empty() ? "kernels" : ToPrintableLine(Beginning(name, kTitleMax));
    AddPresence(title, family, causes);
    if (!family.counted.parts.empty()) {
      Cause cause = CauseOf("kernelsCounted", family.counted);
      cause.sentence = StrCat(title, ": ", Quantity(Launches(family.counted, 1)),
                              " launches a rank, not ", Quantity(Launches(family.counted, 0)),
                              ", of ", KernelCount(family.counted.parts.size()), " (",
                              Examples(family.counted), ") take ", Signed(cause.seconds));
      causes->push_back(std::move(cause));
    }
    if (family.timed.parts.empty()) continue;
    Cause cause = CauseOf("kernelsTimed", family.timed);
    cause.sentence =
        StrCat(title, ": ", KernelCount(family.timed.parts.size()),
               family.timed.parts.size() == 1 ? " has" : " have", " a different duration (",
               Examples(family.timed), "), together ", Signed(cause.seconds));
    AddSettings(fields, {"cluster.server.gpu"}, &cause);
    causes->push_back(std::move(cause));
  }
}

// Returns how much more of the critical path each sort of links takes, as far as both have one.
std::string LinksOf(const Compared& compared) {
  std::map<std::string, std::array<double, 2>> times;
  for (std::size_t i = 0; i < 2; ++i) {
    const json& path = At(*compared.jobs[i], {"status", "prediction", "criticalPath"});
    const json& links = At(path, {"links"});
    if (!links.is_array()) return "";
    for (const json& link : links) {
      times[TextAt(link, {"link"})][i] += NumberAt(link, {"picoseconds"}) * 1e-12;
    }
  }
  const std::string* most = nullptr;
  double difference = 0;
  for (const auto& [name, seconds] : times) {
    if (std::abs(seconds[1] - seconds[0]) <= std::abs(difference)) continue;
    difference = seconds[1] - seconds[0];
    most = &name;
  }
  if (most == nullptr) return "";
  return StrCat("; on the critical path ", ToPrintableLine(Beginning(*most, kSettingMax)),
                " takes ", Signed(difference));
}

Cause ExplainCommunication(const Compared& compared, const std::vector<Kernel>& collectives,
                           double difference) {
  Group all;
  for (const Kernel& kernel : collectives) all.parts.emplace_back(0, &kernel);
  std::array<double, 2> busy{};
  std::string of_one;
  for (const Kernel& kernel : collectives) {
    for (std::size_t i = 0; i < 2; ++i) busy[i] += kernel.of[i].seconds;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!kernel.of[1 - i].paths.empty()) continue;
      of_one += StrCat(of_one.empty() ? "; " : ", ", "only ", i == 0 ? "A" : "B", " has ",
                       TitleOf(kernel));
    }
  }
  Cause cause = CauseOf("communication", all);
  cause.seconds = difference;
  cause.sentence = StrCat("communication that nothing hides takes ", Signed(difference), ": ",
                          Quantity(Launches(all, 1)), " collectives a rank, not ",
                          Quantity(Launches(all, 0)), ", are busy for ", FormatSeconds(busy[1]),
                          ", not ", FormatSeconds(busy[0]), of_one, LinksOf(compared));
  AddSettings(*compared.fields,
              {"cluster.fabric", "cluster.server.nics", "cluster.server.nvlink", "cluster.servers",
               "cluster.server.gpusPerServer"},
              &cause);
  return cause;
}

// A line of a program; of a long path the end, which tells file and line.
std::string PlaceOf(const std::string& line) {
  if (line.size() <= kTitleMax) return ToPrintableLine(line);
  std::size_t at = line.size() - kTitleMax;
  while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80) ++at;
  return "..." + ToPrintableLine(line.substr(at));
}

// Lines where the program reads what the device computed, in one job only.
std::string ReadingLines(const Compared& compared) {
  std::array<std::set<std::string>, 2> lines;
  for (std::size_t i = 0; i < 2; ++i) {
    const json& reads = At(*compared.jobs[i], {"status", "prediction", "unknownReadSources"});
    if (!reads.is_array()) continue;
    for (const json& read : reads) {
      const std::string line = TextAt(read, {"line"});
      if (!line.empty()) lines[i].insert(line);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t told = 0;
    for (const std::string& line : lines[i]) {
      constexpr std::size_t kTold = 3;
      if (lines[1 - i].contains(line) || ++told > kTold) continue;
      text += StrCat("; only ", i == 0 ? "A" : "B", " reads values of the GPU at ", PlaceOf(line));
    }
  }
  return text;
}

Cause ExplainHosts(const Compared& compared, const std::vector<Kernel>& kernels,
                   double difference) {
  std::array<double, 2> launches{};
  for (const Kernel& kernel : kernels) {
    for (std::size_t i = 0; i < 2; ++i) launches[i] += kernel.of[i].launches;
  }
  Cause cause{.cause = "host", .seconds = difference};
  cause.sentence =
      StrCat("GPUs wait for their hosts ", Signed(difference), ", with ", Quantity(launches[1]),
             " launches a rank, not ", Quantity(launches[0]), ReadingLines(compared));
  AddSettings(*compared.fields, {"cluster.server.cpu"}, &cause);
  return cause;
}

// A part of the breakdown in seconds, of the second job less that of the first; nothing where one
// of them does not tell.
double DifferenceOf(const Compared& compared, const char* part) {
  std::array<double, 2> seconds{};
  for (std::size_t i = 0; i < 2; ++i) {
    const json& breakdown = At(*compared.jobs[i], {"status", "prediction", "breakdown"});
    if (!At(breakdown, {part}).is_number()) return 0;
    seconds[i] = NumberAt(breakdown, {part}) * NumberAt(*compared.times[i], {"mean"});
  }
  return seconds[1] - seconds[0];
}

json ExplainMemory(const Compared& compared) {
  struct Part {
    const char* title;
    std::vector<const char*> path;
  };
  static const std::vector<Part> kParts = {{"parameters", {"allocations", "parameters"}},
                                           {"gradients", {"allocations", "gradients"}},
                                           {"optimizer state", {"allocations", "optimizerState"}},
                                           {"activations", {"allocations", "activations"}},
                                           {"other allocations", {"allocations", "other"}},
                                           {"workspace", {"byCategory", "workspace"}},
                                           {"NCCL", {"byCategory", "nccl"}},
                                           {"the context", {"byCategory", "context"}}};
  const std::array<const json*, 2> memory = {
      &At(*compared.jobs[0], {"status", "prediction", "memory"}),
      &At(*compared.jobs[1], {"status", "prediction", "memory"})};
  const auto more = [&](const std::vector<const char*>& path) {
    std::array<double, 2> bytes{};
    for (std::size_t i = 0; i < 2; ++i) {
      const json* at = memory[i];
      for (const char* key : path) at = &At(*at, {key});
      bytes[i] = at->is_number() ? at->get<double>() : 0;
    }
    return bytes[1] - bytes[0];
  };
  const bool are_told = At(*memory[0], {"peakReservedBytes"}).is_number() &&
                        At(*memory[1], {"peakReservedBytes"}).is_number();
  const double peak = more({"peakReservedBytes"});
  if (!are_told || peak == 0) return json();
  const auto said = [](double bytes) {
    constexpr double kBytesMax = 9e18;
    return StrCat(
        job::FormatBytes(static_cast<std::uint64_t>(std::min(std::abs(bytes), kBytesMax))),
        bytes < 0 ? " less" : " more");
  };
  std::string sentence = StrCat("peak memory is ", said(peak));
  const Part* largest = nullptr;
  for (const Part& part : kParts) {
    if (largest == nullptr || std::abs(more(part.path)) > std::abs(more(largest->path))) {
      largest = &part;
    }
  }
  if (more(largest->path) != 0) {
    sentence +=
        StrCat(", of which most is of ", largest->title, " (", said(more(largest->path)), ")");
  }
  return {{"bytes", peak}, {"sentence", sentence}};
}

json ToJson(const Cause& cause, const std::function<void(double, json*)>& add_share) {
  json out = {{"cause", cause.cause},
              {"seconds", cause.seconds},
              {"sentence", cause.sentence},
              {"first", cause.paths[0]},
              {"second", cause.paths[1]}};
  if (!cause.settings.empty()) out["settings"] = cause.settings;
  add_share(cause.seconds, &out);
  return out;
}

// Adds the parts of the breakdown beside computation, where they are not the same.
void AddWaits(const Compared& compared, const Kernels& kernels, double least,
              std::vector<Cause>* causes) {
  const auto add = [&](const char* part, const std::function<Cause(double)>& of) {
    const double seconds = DifferenceOf(compared, part);
    if (std::abs(seconds) <= least) return;
    Cause cause = of(seconds);
    for (std::size_t i = 0; i < 2; ++i) {
      cause.paths[i].insert(cause.paths[i].begin(), StrCat("status.prediction.breakdown.", part));
    }
    causes->push_back(std::move(cause));
  };
  add("exposedCommunication",
      [&](double more) { return ExplainCommunication(compared, kernels.collectives, more); });
  add("host", [&](double more) { return ExplainHosts(compared, kernels.work, more); });
  add("idle", [](double more) {
    return Cause{.cause = "idle",
                 .seconds = more,
                 .sentence = StrCat("GPUs wait ", Signed(more),
                                    " for other reasons: gaps between launches, streams that wait "
                                    "for each other, stages of a pipeline")};
  });
}

}  // namespace

json ExplainDifference(const Compared& compared) {
  const std::array<double, 2> means = {NumberAt(*compared.times[0], {"mean"}),
                                       NumberAt(*compared.times[1], {"mean"})};
  const bool compare = means[0] > 0 && means[1] > 0 &&
                       TextAt(*compared.times[0], {"what"}) == TextAt(*compared.times[1], {"what"});
  if (!compare) return json();
  const double difference = means[1] - means[0];
  const double least = kLeastPart * std::max(means[0], means[1]);
  const auto add_share = [&](double seconds, json* out) {
    if (std::abs(difference) > least) (*out)["share"] = seconds / difference;
  };
  const Kernels kernels = KernelsOf(compared);
  std::vector<Cause> causes;
  AddKernelCauses(kernels.work, *compared.fields, &causes);
  AddWaits(compared, kernels, least, &causes);
  std::erase_if(causes, [&](const Cause& cause) { return std::abs(cause.seconds) <= least; });
  std::ranges::stable_sort(causes, std::greater(),
                           [](const Cause& cause) { return std::abs(cause.seconds); });
  double unexplained = difference;
  json listed = json::array();
  for (const Cause& cause : causes) {
    unexplained -= cause.seconds;
    listed.push_back(ToJson(cause, add_share));
  }
  if (std::abs(unexplained) <= least) unexplained = 0;
  json rest = {
      {"seconds", unexplained},
      {"sentence", unexplained == 0 ? std::string("the causes explain the whole difference")
                                    : StrCat(Signed(unexplained),
                                             " are not explained by these: kernels that run beside "
                                             "each other, that the documents do not list, or parts "
                                             "that they do not tell")}};
  add_share(unexplained, &rest);
  json out = {{"difference", difference}, {"causes", listed}, {"unexplained", rest}};
  if (json memory = ExplainMemory(compared); !memory.is_null()) out["memory"] = std::move(memory);
  return out;
}

}  // namespace eidolon::controller::shown
