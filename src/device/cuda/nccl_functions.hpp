// NCCL's stable binary interface, declared here because nccl.h is part of no driver or toolkit. Names,
// numbers and layouts follow nccl.h from 2.7 on.
#pragma once

#include <array>
#include <cstddef>

#include "base/shared_library.hpp"

namespace jitterscope::cuda::nccl {

using Handle = struct NcclComm*;
using StreamHandle = void*;  // a CUstream

enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,  // from 2.12 on
  kInProgress = 7,   // from 2.14 on
};

enum Type : int {
  kInt8 = 0,
  kInt32 = 2,
  kInt64 = 4,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,  // from 2.10 on
};

enum Reduction : int { kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3, kAverage = 4 };  // kAverage: 2.10

struct UniqueId {
  std::array<char, 128> bytes{};
};
static_assert(sizeof(UniqueId) == 128);

// X(name, parameters): 15 functions that return a Result. With ncclGetErrorString they are all since 2.7.
// clang-format off
#define JITTERSCOPE_NCCL_FUNCTIONS(X)                                                                  \
  X(ncclGetVersion, (int*))                                                                            \
  X(ncclGetUniqueId, (UniqueId*))                                                                      \
  X(ncclCommInitRank, (Handle*, int, UniqueId, int))                                                   \
  X(ncclCommDestroy, (Handle))                                                                         \
  X(ncclCommAbort, (Handle))                                                                           \
  X(ncclCommGetAsyncError, (Handle, int*))                                                             \
  X(ncclAllReduce, (const void*, void*, std::size_t, Type, Reduction, Handle, StreamHandle))           \
  X(ncclReduceScatter, (const void*, void*, std::size_t, Type, Reduction, Handle, StreamHandle))       \
  X(ncclAllGather, (const void*, void*, std::size_t, Type, Handle, StreamHandle))                      \
  X(ncclBroadcast, (const void*, void*, std::size_t, Type, int root, Handle, StreamHandle))            \
  X(ncclReduce, (const void*, void*, std::size_t, Type, Reduction, int root, Handle, StreamHandle))    \
  X(ncclSend, (const void*, std::size_t, Type, int peer, Handle, StreamHandle))                        \
  X(ncclRecv, (void*, std::size_t, Type, int peer, Handle, StreamHandle))                              \
  X(ncclGroupStart, ())                                                                                \
  X(ncclGroupEnd, ())
// clang-format on

struct Functions {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name, parameters) int(*name) parameters = nullptr;
  JITTERSCOPE_NCCL_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
  // NOLINTBEGIN(readability-identifier-naming): NCCL's own names
  const char* (*ncclGetErrorString)(int) = nullptr;
  const char* (*ncclGetLastError)(Handle) = nullptr;  ///< null before 2.13
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace jitterscope::cuda::nccl
