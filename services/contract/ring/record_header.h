// What every record of the ring starts with, and the list of record kinds (record.h describes
// each).
#pragma once

#include <cstdint>

namespace eidolon::ring {

enum class RecordKind : std::uint16_t {
  kPad = 0,  // May be only 8 bytes long: size, kind and device.
  // Definitions. They cost the program nothing.
  kDefineWork,     // DefineWork + work definition (contract/workload).
  kStreamCreate,   // StreamRecord.
  kStreamDestroy,  // StreamRecord.
  kEventCreate,    // EventRecord.
  kEventDestroy,   // EventRecord.
  kGraphDefine,    // GraphDefine + GraphNode[node_count] + u32 dependencies[dependency_count].
  kGraphDestroy,   // GraphRecord.
  // Work on a stream.
  kLaunch,           // LaunchRecord: a kernel, library call, copy or memset defined before.
  kEventRecord,      // EventRecord.
  kStreamWaitEvent,  // EventRecord.
  kHostCallback,     // CallbackRecord.
  kGraphLaunch,      // GraphRecord.
  kCommunication,    // CommunicationRecord + CommunicationOp[op_count] + payload.
  // Questions: the thread waits in a reply slot. All are WaitRecord.
  kSynchronizeStream,  // value_ps: when all work issued to the stream so far ends.
  kSynchronizeDevice,  // The same for every stream of the device.
  kSynchronizeEvent,   // When the event's last record completes (its clock if never recorded).
  kQueryStream,        // kOk or kNotReady at host_clock_ps.
  kQueryEvent,   // The same for an event. `observer` set: answer from what is known, never wait.
  kElapsedTime,  // id, id2: events; value_ps: int64 picoseconds between them.
  kWaitUntil,    // id: virtual time; answered when no rank can act before it (sleep).
  // Communicators.
  kCommunicatorInit,     // CommunicatorInit; waits in a slot until all members have joined.
  kCommunicatorSplit,    // CommunicatorSplit; the same. extra: (rank << 32) | size; payload: see
                         // below.
  kCommunicatorDestroy,  // CommunicatorRecord.
  kCollectiveValues,     // WaitRecord, id: communicator, id2: sequence (of a receive: see
                         // ReceiveValues). Waits until every member issued that collective
                         // (`observer` set: kNotReady instead of waiting); payload: the result's
                         // bytes, none when nobody knows them. Costs no virtual time.
  // Notes.
  kMemory,         // MemoryRecord: the allocation book changed.
  kOutOfMemory,    // MemoryRecord: a request of `bytes` was refused.
  kRangePush,      // MarkRecord + name (NVTX).
  kRangePop,       // MarkRecord.
  kRefusedCall,    // MarkRecord + symbol name. Once per name and process; id: 1.
  kUnknownRead,    // MarkRecord; id: bytes the host read that no kernel computed; reserved: their
                   // kUnknownSource's number, 0 for none.
  kUnknownSource,  // MarkRecord + text (unknown_source.h); id: its number, from 1; reserved: the
                   // number of the job's declaration that gave the value, 0 for none.
  kDamage,         // MarkRecord + text: what the shim found overwritten in this memory.
  // A profiler inside the process (activity.h).
  kActivity,     // WaitRecord, id: ActivityRequest. Answered at once; costs no virtual time.
  kActivations,  // MemoryRecord, used: the most that was kept at once for backward passes.
  // A mark that mirrored ranks' values were taken from another rank: MarkRecord + text. Of folded
  // jobs.
  kGuessedValues,
  kSensors,  // WaitRecord: what the device's sensors read at host_clock_ps (sensors.h), once no
             // rank can act before it.
  kInputs,   // InputsRecord (program_inputs.h).
  // All records from here on are for a timeline.
  kPythonLine,        // MarkRecord + text; id: its number (python_line.h).
  kMemoryBlock,       // MemoryBlockRecord (memory_block.h).
  kOptimizerTensors,  // OptimizerTensorsRecord + OptimizerTensor[count] (memory_block.h).
  kCount,
};

// Returns whether a thread waits for virtual time, or for what holds at some.
constexpr bool AsksTime(RecordKind kind) {
  return (kind >= RecordKind::kSynchronizeStream && kind <= RecordKind::kWaitUntil) ||
         kind == RecordKind::kSensors;
}

struct RecordHeader {
  std::uint32_t bytes;
  RecordKind kind;
  std::uint16_t device;         // Server-local index of the emulated GPU.
  std::uint64_t host_clock_ps;  // The calling rank's clock when the call was made.
  std::uint64_t check;          // RecordCheck (check.h); set by who writes into the ring.
};

}  // namespace eidolon::ring
