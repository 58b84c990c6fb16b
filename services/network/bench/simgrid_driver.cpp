// Runs one workload of generate.py on SimGrid 3.32 (s4u one-sided comms, fluid max-min network).
// usage: simgrid_driver FILE [--limit CPU_SECONDS] [--first-only] [--dump OUT] [--full] [--cfg=...]
// Routes are taken from the file through a private netzone (one path per host pair).
#include <simgrid/s4u.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>
#include <unistd.h>
#ifdef SG_INTERNALS   // needs -I <simgrid 3.32 source tree>: see note at start_flow()
#include "src/kernel/EngineImpl.hpp"
#include "src/kernel/actor/ActorImpl.hpp"
#endif
namespace sg4 = simgrid::s4u;
namespace kr  = simgrid::kernel::routing;
using Clock   = std::chrono::steady_clock;
static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
static double rss_mib()
{
  std::ifstream f("/proc/self/status"); std::string k; double v = 0;
  while (f >> k) { if (k == "VmHWM:") { f >> v; break; } f.ignore(1000, '\n'); }
  return v / 1024;
}
// on-CPU time of this (only) thread: robust when the machine is shared
static double cpu_s() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double c1, c2, cpu_first;
struct Rt { unsigned src, dst, off, len; };
static std::vector<Rt> routes;
static std::vector<unsigned> path;
static std::vector<simgrid::kernel::resource::StandardLinkImpl*> links;
static std::unordered_map<unsigned long, unsigned> by_pair;

class FileZone : public kr::NetZoneImpl {
public:
  explicit FileZone(const std::string& n) : NetZoneImpl(n) {}
  ~FileZone() override = default;
  void get_local_route(const kr::NetPoint* s, const kr::NetPoint* d, kr::Route* into, double*) override
  {
    auto it = by_pair.find((unsigned long)s->id() << 32 | d->id());
    if (it == by_pair.end()) { fprintf(stderr, "no route %lu %lu\n", s->id(), d->id()); abort(); }
    const Rt& r = routes[it->second];
    for (unsigned i = 0; i < r.len; i++) into->link_list_.push_back(links[path[r.off + i]]);
  }
};
struct Fl { double start; unsigned long bytes; unsigned route; unsigned ndeps; };
static std::vector<Fl> flows;
static std::vector<unsigned> soff, succ;
static std::vector<sg4::Host*> host;         // by route host index
static std::vector<sg4::CommPtr> live, trash;
static std::vector<double> finish;
static size_t done, arrived, nsteps, arrived0; static double last_t = -1, limit = 1e18;
static Clock::time_point t_run; static double w_load, w_add, w_first, rss_load; static std::string name; static bool dumping;
static bool lazy = true;
static void report(bool trunc)
{
  double w = since(t_run), c = cpu_s() - c1;
  printf("{\"sim\":\"simgrid-%s%s\",\"workload\":\"%s\",\"flows\":%zu,\"completed\":%zu,\"truncated\":%s,\"wall_load_s\":%.4f,\"wall_add_s\":%.4f,"
         "\"wall_first_solve_s\":%.5f,\"wall_sim_s\":%.4f,\"cpu_first_solve_s\":%.6f,\"cpu_sim_s\":%.5f,\"completion_steps\":%zu,\"events\":%zu,\"events_per_s\":%.1f,\"flows_per_s\":%.1f,\"steady_events_per_s\":%.1f,\"makespan_ns\":%.0f,"
         "\"rss_mib\":%.1f,\"rss_after_load_mib\":%.1f}\n", lazy ? "lazy" : "full",
#ifdef SG_INTERNALS
         "-nolist",
#else
         "",
#endif
         name.c_str(), flows.size(), done, trunc ? "true" : "false", w_load, w_add, w_first, w, cpu_first, c, nsteps, arrived + done,
         (arrived + done) / c, done / c, (arrived + done - arrived0) / std::max(1e-9, cpu_s() - c2 - cpu_first), (last_t < 0 ? 0 : last_t) * 1e9, rss_mib(), rss_load);
  fflush(stdout);
}
static void start_flow(unsigned id)
{
  const Fl& f = flows[id]; const Rt& r = routes[f.route];
  auto c = sg4::Comm::sendto_init(host[r.src], host[r.dst]);
  c->set_payload_size(f.bytes);
  c->set_data((void*)(uintptr_t)(id + 1));
  live[id] = c;
#ifdef SG_INTERNALS
  // SimGrid 3.32 keeps every one-sided comm in maestro's std::list and does list::remove(value) at each completion,
  // i.e. O(outstanding comms) per completion. The list has no use here (we hold the comms), so keep it empty.
  static auto& maestro_list = simgrid::kernel::EngineImpl::get_instance()->get_maestro()->activities_;
  maestro_list.clear();
#endif
  arrived++;
  c->start();
}
int main(int argc, char** argv)
{
  std::string file, dump; bool first_only = false, full = false;
  std::vector<std::string> cfg = {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0",
                                  "network/bandwidth-factor:1", "network/latency-factor:1"};
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    if (a == "--limit") limit = atof(argv[++i]);
    else if (a == "--first-only") first_only = true;
    else if (a == "--dump") dump = argv[++i];
    else if (a == "--full") full = true;
    else if (a.rfind("--cfg=", 0) == 0) cfg.push_back(a.substr(6));
    else file = a;
  }
  dumping = !dump.empty(); lazy = not full;
  std::vector<char*> eargs = {argv[0]}; std::vector<std::string> keep;
  for (auto& c : cfg) keep.push_back("--cfg=" + c);
  if (full) keep.push_back("--cfg=network/optim:Full");
  for (auto& k : keep) eargs.push_back(k.data());
  int ec = (int)eargs.size(); eargs.push_back(nullptr); char** ev = eargs.data();
  sg4::Engine e(&ec, ev);
  auto t0    = Clock::now();
  auto* impl = new FileZone("root"); auto* zone = impl->get_iface();
  FILE* f = fopen(file.c_str(), "r"); if (!f) { perror("open"); return 1; }
  std::vector<char> big(1 << 20); setvbuf(f, big.data(), _IOFBF, big.size());
  std::vector<char> isHost; std::vector<std::string> nname; std::vector<unsigned> npid;
  std::vector<std::pair<unsigned, unsigned>> edges;
  char* line = nullptr; size_t cap = 0;
  while (getline(&line, &cap, f) > 0) {
    char* p = line + 1; auto num = [&] { return strtoul(p, &p, 10); };
    switch (line[0]) {
      case 'V': { char b[256]; sscanf(line, "V %*d %255s", b); name = b; break; }
      case 'N': { char b[256], k; int d; sscanf(line, "N %*u %255s %d %c", b, &d, &k); nname.push_back(b); host.push_back(k == 'H' ? zone->create_host(b, 1e9) : nullptr); break; }
      case 'L': { auto i = num(); num(); num(); double bw = (double)num();
        for (int dir = 0; dir < 2; dir++) { std::string n = "l" + std::to_string(2 * i + dir);
          auto* l = zone->create_link(n, bw); l->set_sharing_policy(sg4::Link::SharingPolicy::SHARED); l->set_latency(0); l->seal();
          links.push_back(impl->get_link_by_name_or_null(n)); }
        break; }
      case 'R': { num(); Rt r; r.src = num(); r.dst = num(); r.len = num(); r.off = path.size(); for (unsigned k = 0; k < r.len; k++) path.push_back(num());
        by_pair[(unsigned long)host[r.src]->get_netpoint()->id() << 32 | host[r.dst]->get_netpoint()->id()] = routes.size(); routes.push_back(r); break; }
      case 'F': { unsigned id = num(); Fl x; x.start = num() * 1e-9; x.bytes = num(); x.route = num(); x.ndeps = num(); for (unsigned k = 0; k < x.ndeps; k++) edges.emplace_back(num(), id); flows.push_back(x); break; }
    }
  }
  fclose(f); zone->seal();
  size_t n = flows.size(); live.resize(n); if (dumping) finish.resize(n);
  soff.assign(n + 1, 0); for (auto& d : edges) soff[d.first + 1]++; for (size_t i = 0; i < n; i++) soff[i + 1] += soff[i];
  { auto pos = soff; succ.resize(edges.size()); for (auto& d : edges) succ[pos[d.first]++] = d.second; } edges = {};
  w_load = since(t0); rss_load = rss_mib();
  sg4::Activity::on_completion_cb([&](sg4::Activity const& a) {
    auto* c = dynamic_cast<sg4::Comm const*>(&a); if (!c) return;
    trash.clear();
    unsigned id = (unsigned)(uintptr_t)c->get_data<void>() - 1;
    double now = sg4::Engine::get_clock();
    if (now > last_t) { nsteps++; last_t = now; }
    done++;
    if (dumping) finish[id] = now;
    trash.push_back(std::move(live[id]));
    for (unsigned k = soff[id]; k < soff[id + 1]; k++) if (--flows[succ[k]].ndeps == 0) start_flow(succ[k]);
    if (done < n && cpu_s() - c1 > limit) { report(true); _exit(0); }
  });
  // flows at t=0 directly from maestro; later ones by kernel timers
  std::vector<unsigned> later;
  t_run = Clock::now(); c1 = cpu_s();
  for (unsigned i = 0; i < n; i++) if (flows[i].ndeps == 0) { if (flows[i].start <= 0) start_flow(i); else later.push_back(i); }
  size_t nx = 0;
  std::function<void()> feed = [&] { double t = sg4::Engine::get_clock();
    while (nx < later.size() && flows[later[nx]].start <= t + 1e-12) start_flow(later[nx++]);
    if (nx < later.size()) simgrid::kernel::timer::Timer::set(flows[later[nx]].start, [&] { feed(); }); };
  if (!later.empty()) simgrid::kernel::timer::Timer::set(flows[later[0]].start, [&] { feed(); });
  w_add = since(t_run); arrived0 = arrived;
  auto t2 = Clock::now(); c2 = cpu_s();
  e.run_until(1e-9);
  w_first = since(t2); cpu_first = cpu_s() - c2;
  if (!first_only) { e.run(); }
  report(first_only);
  if (dumping) { FILE* o = fopen(dump.c_str(), "w"); for (double t : finish) fprintf(o, "%.0f\n", t * 1e9); fclose(o); }
  fflush(stdout); _exit(0);
}
