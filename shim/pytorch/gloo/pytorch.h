// Functions of the PyTorch in this process that stand behind ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/pytorch/gloo/options.h"

namespace eidolon::shim::gloo {

// PyTorch's own. Ends the job, naming it, when this PyTorch has none of that name.
void* FindInPytorch(const char* name);

template <typename Function>
Function Own(const char* name) {
  return reinterpret_cast<Function>(FindInPytorch(name));
}

// gloo::transport::tcp::UnboundBuffer's functions.
using SendFunction = void (*)(Buffer*, std::int32_t rank, std::uint64_t slot, std::size_t offset,
                              std::size_t bytes);
using ReceiveFunction = SendFunction;
using WaitFunction = bool (*)(Buffer*, std::int32_t* rank, std::int64_t timeout_ms);
using CompleteFunction = void (*)(Buffer*, std::int32_t rank);
inline constexpr char kSend[] = "_ZN4gloo9transport3tcp13UnboundBuffer4sendEimmm";
inline constexpr char kReceive[] = "_ZN4gloo9transport3tcp13UnboundBuffer4recvEimmm";
inline constexpr char kWaitSend[] =
    "_ZN4gloo9transport3tcp13UnboundBuffer8waitSendEPiNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
inline constexpr char kWaitReceive[] =
    "_ZN4gloo9transport3tcp13UnboundBuffer8waitRecvEPiNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
inline constexpr char kCompleteSend[] =
    "_ZN4gloo9transport3tcp13UnboundBuffer20handleSendCompletionEi";
inline constexpr char kCompleteReceive[] =
    "_ZN4gloo9transport3tcp13UnboundBuffer20handleRecvCompletionEi";

// gloo::Context's.
using CreateBufferFunction = BufferPointer (*)(Context*, void* memory, std::size_t bytes);
inline constexpr char kCreateBuffer[] = "_ZN4gloo7Context19createUnboundBufferEPvm";

}  // namespace eidolon::shim::gloo
