// Outcome of an operation on the emulated GPU, in the CUDA driver's own numbers, so that the
// runtime and the driver faces convert without a table of ours. No vendor header is needed here.
#pragma once

#include <cstdint>

namespace eidolon::shim::gpu {

// Values equal CUresult; cudaError_t uses the same numbers for those that both know.
enum class Status : std::uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kAlreadyMapped = 208,
  kNoBinaryForGpu = 209,
  kNotMapped = 211,
  kUnsupportedLimit = 215,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kFileNotFound = 301,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemDriverMismatch = 803,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kInvalidClusterSize = 912,
  kUnknown = 999,
};

}  // namespace eidolon::shim::gpu
