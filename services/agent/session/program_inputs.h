// Samples and tokens of an iteration as the program's own calls show them: what it gives to its
// model, and the batches that its data loader hands out.
//
// A program may call several modules in an iteration: a model, a loss, a frozen teacher. The model
// is the one whose calls multiply most. Between the beginning and the end of its calls ranks may
// exchange rows (tensor parallelism, experts): then several ranks may work on the same samples, and
// the iteration is reported as unclear. A rank that receives before its first call is a later stage
// of a pipeline: its inputs are another rank's outputs.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "services/agent/iteration/split.h"
#include "services/contract/ring/program_inputs.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// Keeps the inputs of one process. Main loop only.
class ProgramInputs {
 public:
  // The program gives an input to a module, or takes a batch. All calls come in its order;
  // `sequence` is the number of the operation that comes next.
  void Note(std::uint64_t sequence, const ::eidolon::ring::InputsRecord& record);
  // The program launches work.
  void NoteWork(const iteration::WorkCounts& counts);
  // The program calls a communicator of `size` ranks.
  void NoteCalls(std::uint64_t sequence, std::uint32_t size,
                 std::span<const ::eidolon::ring::CommunicationOp> ops);

  // Of the operations [begin, end), which grow from call to call; nothing where the program called
  // no module that multiplies.
  std::optional<iteration::Inputs> Take(std::uint64_t begin, std::uint64_t end);

 private:
  struct Call {
    std::uint64_t sequence = 0;
    std::uint64_t module = 0;
    std::uint64_t samples = 0;
    std::uint64_t tokens = 0;
    std::uint64_t matrix_flops = 0;
    bool exchanges_rows = false;
  };
  struct Batch {
    std::uint64_t sequence = 0;
    std::uint64_t loader = 0;
    std::uint64_t samples = 0;
  };
  std::uint64_t BatchOf(std::uint64_t begin, std::uint64_t end);

  std::deque<Call> calls_;
  std::deque<Batch> batches_;
  std::deque<std::uint64_t> receives_;  // Outside of calls.
  bool in_call_ = false;                // The last call has not ended.
  bool shares_sequences_ = false;
};

}  // namespace eidolon::agent::session
