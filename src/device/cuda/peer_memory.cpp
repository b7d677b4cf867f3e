#include "device/cuda/peer_memory.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// Looked up when links are measured: nothing else needs them.
struct IpcFunctions {
  decltype(&::cuIpcGetMemHandle) get = nullptr;
  decltype(&::cuIpcOpenMemHandle) open = nullptr;  // cuIpcOpenMemHandle_v2, by cuda.h
  decltype(&::cuIpcCloseMemHandle) close = nullptr;
};

const IpcFunctions& ipc() {
  static const IpcFunctions functions = [] {
    const SharedLibrary& library = driver().library;
    IpcFunctions found;
    found.get = library.find_function<std::remove_pointer_t<decltype(found.get)>>("cuIpcGetMemHandle");
    found.open = library.find_function<std::remove_pointer_t<decltype(found.open)>>("cuIpcOpenMemHandle_v2");
    found.close = library.find_function<std::remove_pointer_t<decltype(found.close)>>("cuIpcCloseMemHandle");
    return found;
  }();
  if (functions.get == nullptr || functions.open == nullptr || functions.close == nullptr) {
    throw MissingError(
        "the NVIDIA driver is too old for memory of other processes: it has no cuIpcOpenMemHandle_v2; install "
        "one for CUDA 11 or newer");
  }
  return functions;
}

std::string written(const CUipcMemHandle& handle) {
  std::string digits;
  for (const char byte : handle.reserved) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

CUipcMemHandle handle_of(std::string_view digits) {
  CUipcMemHandle handle{};
  bool is_whole = digits.size() == 2 * sizeof(handle.reserved);
  for (std::size_t i = 0; is_whole && i < sizeof(handle.reserved); ++i) {
    unsigned char byte = 0;
    const char* first = digits.data() + 2 * i;
    const auto read = std::from_chars(first, first + 2, byte, 16);
    is_whole = read.ec == std::errc() && read.ptr == first + 2;
    handle.reserved[i] = static_cast<char>(byte);
  }
  if (is_whole) return handle;
  throw FailedError(fmt::format("it got no handle of memory, but '{}'", digits.substr(0, 40)));
}

/// Another rank's buffer in this process's address space.
class OpenedMemory {
 public:
  explicit OpenedMemory(const CUipcMemHandle& handle) {
    check(ipc().open(&address_, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "opening another rank's memory");
  }
  ~OpenedMemory() { ipc().close(address_); }
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

class PeerWork final : public Workload {
 public:
  PeerWork(const Context& context, CUdeviceptr to, CUdeviceptr from, Bytes size, PeerCopyBy by)
      : context_(context), to_(to), from_(from), size_(size), by_(by) {}
  void run(NativeQueue queue) override {
    auto* stream = static_cast<CUstream>(queue);
    if (by_ == PeerCopyBy::kernel) return context_.kernels().copy(stream, to_, from_, size_);
    check(driver().cuMemcpyDtoDAsync(to_, from_, static_cast<std::size_t>(size_.value()), stream),
          "copying between GPUs");
  }
  std::vector<MemoryRegion> memory() const override {
    return {{reinterpret_cast<void*>(to_), size_}};  // NOLINT: as the libraries take it
  }

 private:
  const Context& context_;
  CUdeviceptr to_, from_;
  Bytes size_;
  PeerCopyBy by_;
};

class GpuPeerMemory final : public PeerMemory {
 public:
  GpuPeerMemory(const Context& context, Ranks& ranks, Bytes size)
      : context_(context),
        rank_(ranks.rank()),
        own_(size),
        others_(static_cast<std::size_t>(ranks.count())) {}

  std::string handle() const {
    CUipcMemHandle handle{};
    check(ipc().get(&handle, own_.address()), "opening memory to other ranks");
    return written(handle);
  }
  void open(const std::vector<std::string>& handles) {
    for (std::size_t rank = 0; rank < others_.size(); ++rank) {
      if (rank != static_cast<std::size_t>(rank_))
        others_[rank] = std::make_unique<OpenedMemory>(handle_of(handles.at(rank)));
    }
  }
  void find_ways(const std::vector<std::string>& uuids, const WayTo& way_to) {
    for (std::size_t rank = 0; rank < others_.size(); ++rank)
      ways_.push_back(rank == static_cast<std::size_t>(rank_) ? std::string() : way_to(uuids.at(rank)));
  }
  std::string way_to(int peer) const override { return ways_.at(static_cast<std::size_t>(peer)); }
  std::unique_ptr<Workload> copy_from(int peer, PeerCopyBy by, bool both_ways) override {
    const auto index = static_cast<std::size_t>(peer);
    if (peer < 0 || index >= others_.size() || peer == rank_) {
      throw UsageError(fmt::format("rank {} has no link to rank {}: of {} ranks it takes another one", rank_,
                                   peer, others_.size()));
    }
    context_.make_current();
    if (!both_ways)
      return std::make_unique<PeerWork>(context_, own_.address(), others_[index]->address(), own_.size(), by);
    // From the other's first half to this one's second, so that no byte is read and written at once.
    const Bytes half(own_.size().value() / 2);
    return std::make_unique<PeerWork>(context_, own_.address() + static_cast<CUdeviceptr>(half.value()),
                                      others_[index]->address(), half, by);
  }

 private:
  const Context& context_;
  int rank_;
  DeviceMemory own_;
  std::vector<std::unique_ptr<OpenedMemory>> others_;
  std::vector<std::string> ways_;  ///< by rank
};

// Each rank says what went wrong there, so that all end alike. A handle has no blank in it, a sentence has.
template <class Step>
std::vector<std::string> all_take(Ranks& ranks, const Step& step) {
  std::string said;
  try {
    said = step();
  } catch (const Error& error) {
    said = error.what();
  }
  std::vector<std::string> texts = ranks.exchange(said);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].find(' ') == std::string::npos) continue;
    throw UsageError(
        fmt::format("ranks cannot reach each other's memory: rank {}: {}; the GPUs must be on one "
                    "machine with peer access (nvidia-smi topo -p2p r)",
                    rank, texts[rank]));
  }
  return texts;
}

}  // namespace

std::unique_ptr<PeerMemory> open_gpu_to_peers(const Context& context, Ranks& ranks, Bytes size,
                                              const std::string& uuid, const WayTo& way_to) {
  std::unique_ptr<GpuPeerMemory> memory;
  const std::vector<std::string> handles = all_take(ranks, [&] {
    context.make_current();
    memory = std::make_unique<GpuPeerMemory>(context, ranks, size);
    return memory->handle();
  });
  all_take(ranks, [&] {
    memory->open(handles);
    return std::string("opened");
  });
  memory->find_ways(ranks.exchange(uuid), way_to);
  return memory;
}

}  // namespace jitterscope::cuda
