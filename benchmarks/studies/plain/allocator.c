// Eight blocks allocated, filled and freed, then a wait: the median seconds of that by size and by who gives the
// memory, as one JSON object. Calls the CUDA driver and nothing else.
// cc -O2 -I CUDA/include allocator.c -o allocator -lcuda
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBlocks = 8, kSizes = 3, kWays = 4, kRounds = 30, kLaunches = 20 };
enum { kMalloc, kPool, kPoolKept, kPreallocated };
static const size_t kBytes[kSizes] = {64u << 10, 2u << 20, 64u << 20};
static const char* const kSizeNames[kSizes] = {"64Ki", "2Mi", "64Mi"};
static const char* const kWayNames[kWays] = {"malloc", "pool", "pool_kept", "preallocated"};

static CUstream stream;
static CUmemoryPool pools[2];
static CUdeviceptr kept[kSizes][kBlocks];
static double times[kSizes][kWays][kRounds];

static void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = "";
  cuGetErrorString(result, &text);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(5);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void launch(int size, int way) {
  CUdeviceptr blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    switch (way) {
      case kMalloc: check(cuMemAlloc(&blocks[i], kBytes[size]), "cuMemAlloc"); break;
      case kPool:
      case kPoolKept:
        check(cuMemAllocFromPoolAsync(&blocks[i], kBytes[size], pools[way - kPool], stream), "cuMemAllocFromPoolAsync");
        break;
      default: blocks[i] = kept[size][i];
    }
    check(cuMemsetD8Async(blocks[i], 1, kBytes[size], stream), "cuMemsetD8Async");
  }
  for (int i = 0; i < kBlocks; ++i) {
    if (way == kMalloc) check(cuMemFree(blocks[i]), "cuMemFree");
    if (way == kPool || way == kPoolKept) check(cuMemFreeAsync(blocks[i], stream), "cuMemFreeAsync");
  }
}

static double timed(int size, int way) {
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");
  const double begin = now();
  launch(size, way);
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");
  return now() - begin;
}

static int by_size(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), by_size);
  return values[count / 2];
}

int main(void) {
  CUdevice device;
  CUcontext context;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (int keeps = 0; keeps < 2; ++keeps) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    cuuint64_t threshold = keeps ? UINT64_MAX : 0;
    check(cuMemPoolCreate(&pools[keeps], &properties), "cuMemPoolCreate");
    check(cuMemPoolSetAttribute(pools[keeps], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
  }
  for (int size = 0; size < kSizes; ++size) {
    for (int i = 0; i < kBlocks; ++i) check(cuMemAlloc(&kept[size][i], kBytes[size]), "cuMemAlloc");
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int size = 0; size < kSizes; ++size) {
      for (int way = 0; way < kWays; ++way) {
        const double end = now() + 20e-3;  // the GPU rests; a host that slept would be slower behind it
        while (now() < end) {
        }
        double own[kLaunches];
        double awake = 0;  // until the host's caches hold what calls need
        for (int i = 0; i < 2 || awake < 10e-3; ++i) awake += timed(size, way);
        for (int i = 0; i < kLaunches; ++i) own[i] = timed(size, way);
        times[size][way][round] = median(own, kLaunches);
      }
    }
  }
  const char* before = "{";
  for (int size = 0; size < kSizes; ++size) {
    for (int way = 0; way < kWays; ++way) {
      printf("%s\"%s %s\": %.9f", before, kSizeNames[size], kWayNames[way], median(times[size][way], kRounds));
      before = ", ";
    }
  }
  printf("}\n");
  return 0;
}
