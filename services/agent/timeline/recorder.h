// Records a process in the iterations that its timeline shows: operations of its GPUs, calls and
// waits of its host, NVTX ranges, memory.
//
// Which iteration an operation belongs to is known late (a boundary is found when the next
// iteration is under way), so everything is kept until then. An iteration that is not wanted is
// forgotten when it ends; after the last wanted one nothing is kept any more.
//
// Memory is bounded: at most twice Rule::operations_max operations or 200,000, whichever is more,
// and as many events of the host. Before the first wanted iteration the oldest are forgotten to
// make room; the room beyond the rule holds an iteration while the next ones, in which its end is
// found, are under way. Within the wanted ones what no longer fits is left out, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/iteration/ledger.h"
#include "services/agent/timeline/memory_parts.h"
#include "services/base/sim_time.h"
#include "services/contract/critical_path/links.h"
#include "services/contract/ring/memory_block.h"

namespace eidolon::agent::timeline {

struct Rule {
  std::uint32_t first = 0;       // Iteration, from 0; warm-up counts.
  std::uint32_t iterations = 1;  // At least 1.
  std::uint64_t operations_max = 0;
};

enum class HostCall : std::uint8_t {
  kLaunch,
  kGraphLaunch,
  kCommunication,
  kCallback,
  kSynchronizeStream,
  kSynchronizeDevice,
  kSynchronizeEvent,
  kSleep,
};

// A call that issued operations: the host worked from `begin` until it made the call at `end`. A
// wait: it waited from `begin` to `end`.
struct HostEvent {
  HostCall call = HostCall::kLaunch;
  base::SimTime begin;
  base::SimTime end;
  std::uint64_t sequence = 0;    // The next operation's.
  std::uint32_t operations = 0;  // Of a call; 0: a wait.
  std::uint32_t line = 0;        // Of the program, where it was made; 0: not to be had.
};

struct Range {
  std::string name;
  base::SimTime begin;
  base::SimTime end;
  std::uint64_t sequence = 0;  // The next operation's, when it ended.
};

// What a collective, or a group of sends and receives, was. Numbers: of the cost table.
struct Collective {
  struct Transfer {
    bool is_send = false;
    std::int32_t peer = 0;  // In the communicator.
    std::uint64_t bytes = 0;
    std::uint64_t sequence = 0;  // Of the pair and direction.
  };
  std::uint32_t basis = 0;
  std::uint32_t name = 0;
  std::uint64_t communicator = 0;  // The network service's number.
  std::int32_t rank = 0;           // This process's, in it.
  std::uint64_t call = 0;          // Its number in the communicator.
  std::uint64_t bytes = 0;
  std::vector<Transfer> transfers;  // Empty: a collective.
  // Parts of its time; of a group the transfer that ended last.
  std::vector<critical_path::LinkTime> links;
};

struct Operation {
  base::SimTime ready;  // Collectives: when this device could start.
  base::SimTime start;
  base::SimTime finish;
  std::uint64_t released_by = 0;  // As of a device::ResolvedOp.
  std::uint32_t stream = 0;
  std::uint32_t tag = 0;
  std::uint16_t device = 0;
  device::OpKind kind = device::OpKind::kWork;
  bool host_bound = false;
  bool is_resolved = false;
};

// Operations [first, end) of one iteration, or of a program in which none was found.
struct Window {
  std::optional<std::uint32_t> index;  // None: the whole program.
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  base::SimTime start;
  base::SimTime finish;
};

// One process. Its session feeds it in program order, except for operations, which are resolved in
// any order. Main loop only.
class Recorder {
 public:
  explicit Recorder(const Rule& rule) : rule_(rule) {}

  // The host makes a call at `mark` that issues `operations`, at least one.
  void NoteCall(HostCall call, const iteration::Mark& mark, std::uint32_t operations);
  // It waited from `asked` until `told`, where the mark is. `line`: where it asked.
  void NoteWait(HostCall call, base::SimTime asked, const iteration::Mark& told,
                std::uint32_t line);
  // A line of the program has this number from now on. At most kMostPythonLines of
  // services/contract/ring/python_line.h are kept.
  void DefineLine(std::uint64_t number, std::string text);
  // Calls are made there from now on; 0: nobody knows where.
  void SetLine(std::uint64_t number);
  std::uint32_t line() const { return line_; }
  // NVTX. `id`: 0 for ranges that nest, which a pop ends in their order; others end by their id.
  void OpenRange(std::uint64_t id, std::string_view name, base::SimTime at);
  void CloseRange(std::uint64_t id, const iteration::Mark& mark);
  void NoteMemory(MemoryUse use);
  // Blocks of PyTorch's allocator, at a mark.
  void NoteBlock(const ::eidolon::ring::MemoryBlockRecord& block, const iteration::Mark& mark);
  // The next operation is an optimizer's and works on them.
  void NoteTensors(std::uint16_t device, std::span<const ::eidolon::ring::OptimizerTensor> tensors,
                   std::uint64_t sequence);

  void NoteOperation(const device::ResolvedOp& op);
  // The same, with what it was.
  void NoteCollective(const device::ResolvedOp& op, Collective collective);

  // Iterations end in order, after their operations were noted.
  void EndIteration(const iteration::Report& report);
  // Nothing more comes. `end`: the number of operations of the program, which ended at `at`.
  void Close(std::uint64_t end, base::SimTime at);

  // Returns what is to be shown, after Close.
  const std::vector<Window>& windows() const { return windows_; }
  // Null for one that was left out or never ended.
  const Operation* Find(std::uint64_t sequence) const;
  const Collective* FindCollective(std::uint64_t sequence) const;
  const std::deque<HostEvent>& host_events() const { return events_; }
  // Null: nobody knows where the event was.
  const std::string* LineOf(const HostEvent& event) const;
  const std::deque<Range>& ranges() const { return ranges_; }
  const std::deque<MemoryUse>& memory() const { return memory_; }
  // Returns what of that is known to be parameters, gradients, ...; see MemoryParts::has_blocks.
  const MemoryParts& memory_parts() const { return parts_; }
  // Whatever is there has a sequence within [kept_begin, kept_end).
  std::uint64_t kept_begin() const { return first_; }
  std::uint64_t kept_end() const { return first_ + operations_.size(); }
  // Nothing that comes is kept any more.
  bool is_done() const { return is_done_; }
  // Operations of the windows that are not there.
  std::uint64_t CountLeftOut() const;

 private:
  bool is_in_window() const { return next_index_ >= rule_.first; }
  void DropBefore(std::uint64_t sequence);
  std::size_t events_max() const;
  template <typename Event>
  bool HasRoom(std::deque<Event>* events);
  MemoryRoom RoomOfParts() const;

  Rule rule_;
  std::deque<Operation> operations_;  // Of first_, first_ + 1, ...
  std::uint64_t first_ = 0;
  std::map<std::uint64_t, Collective> collectives_;  // By sequence.
  std::deque<HostEvent> events_;
  std::map<std::uint32_t, std::string> lines_;  // By number.
  std::uint32_t line_ = 0;
  std::deque<Range> ranges_;
  std::deque<MemoryUse> memory_;
  MemoryParts parts_;
  std::uint64_t memory_order_ = 0;       // Of what comes next.
  std::vector<Range> nested_;            // Open, of id 0.
  std::map<std::uint64_t, Range> open_;  // Of other ids.
  base::SimTime host_;                   // Until when the host's time is told.
  std::vector<Window> windows_;
  std::uint32_t next_index_ = 0;
  std::uint64_t unwanted_ = 0;  // Operations before this were of iterations that are not wanted.
  bool is_done_ = false;        // The last wanted iteration has ended.
};

}  // namespace eidolon::agent::timeline
