#include "recorder/process_tables.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace jitterscope::recorder {

using capture::CallKind;
using capture::LossKind;
using capture::MemoryKind;
using capture::NameAudit;
using capture::OverheadKind;

namespace {

MemoryKind memory_kind(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE: return MemoryKind::pageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return MemoryKind::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC: return MemoryKind::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: return MemoryKind::array;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC: return MemoryKind::managed;
    default: return MemoryKind::none;
  }
}

OverheadKind overhead_kind(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: return OverheadKind::compiler;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: return OverheadKind::flush;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: return OverheadKind::instrumentation;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: return OverheadKind::resource;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: return OverheadKind::module_load;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: return OverheadKind::lazy_load;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: return OverheadKind::full_queue;
    default: return OverheadKind::other;
  }
}

// A function's name says what a call of it does; it is looked at once for each function.
CallKind call_kind(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Launch")) return CallKind::launch;
  if (has("Synchronize")) return CallKind::wait;
  if (has("Memcpy") || has("Memset")) return CallKind::copy;
  if (has("Malloc") || has("MemAlloc") || has("Free") || has("HostAlloc")) return CallKind::allocation;
  if (has("Module") || has("Library") || has("GetFunction")) return CallKind::load;
  return CallKind::other;
}

std::int64_t time_of(std::uint64_t nanoseconds) { return static_cast<std::int64_t>(nanoseconds); }

}  // namespace

std::size_t ProcessTables::KeyHash::operator()(const LaunchKey& key) const noexcept {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  std::array<std::uint32_t, sizeof(LaunchKey) / sizeof(std::uint32_t)> words;
  std::memcpy(words.data(), &key, sizeof key);
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0xFF51AFD7ED558CCDULL;
  return hash ^ (hash >> 32);
}

ProcessTables::ProcessTables(const Cupti& cupti, const std::string& folder)
    : cupti_(cupti),
      writers_(folder, folder, folder, folder, folder, folder, folder, folder, folder, folder, folder, folder,
               folder) {}

std::uint32_t ProcessTables::name_of(const char* name) {
  const auto [found, is_new] =
      names_.try_emplace(name == nullptr ? "" : name, static_cast<std::uint32_t>(name_texts_.size()));
  if (is_new) name_texts_.push_back(&found->first);
  return found->second;
}

std::uint32_t ProcessTables::text_of(std::string_view text) {
  const auto [found, is_new] =
      texts_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) {
    rows<capture::Texts>().id.push_back(found->second);
    rows<capture::Texts>().text.push_back(found->first);
  }
  return found->second;
}

void ProcessTables::write_launch(std::uint32_t id, NameAudit audit, const std::string& name) {
  const LaunchKey& key = launch_keys_[id];
  capture::Launches& rows = this->rows<capture::Launches>();
  rows.id.push_back(id);
  rows.name.push_back(name);
  rows.grid_x.push_back(key.grid[0]);
  rows.grid_y.push_back(key.grid[1]);
  rows.grid_z.push_back(key.grid[2]);
  rows.block_x.push_back(key.block[0]);
  rows.block_y.push_back(key.block[1]);
  rows.block_z.push_back(key.block[2]);
  rows.cluster_x.push_back(key.cluster[0]);
  rows.cluster_y.push_back(key.cluster[1]);
  rows.cluster_z.push_back(key.cluster[2]);
  rows.registers.push_back(key.registers);
  rows.static_shared.push_back(key.static_shared);
  rows.dynamic_shared.push_back(key.dynamic_shared);
  rows.local_memory.push_back(key.local_memory);
  rows.audit.push_back(static_cast<std::uint8_t>(audit));
}

std::uint32_t ProcessTables::launch_of(const LaunchKey& key) {
  const auto [found, is_new] = launches_.try_emplace(key, static_cast<std::uint32_t>(launch_keys_.size()));
  if (is_new) {
    launch_keys_.push_back(key);
    audits_.push_back(NameAudit::none);
    write_launch(found->second, NameAudit::none, *name_texts_[key.name]);
  }
  return found->second;
}

void ProcessTables::add_kernel(const CUpti_Activity* record) {
  // Later versions of the record only add members at its end.
  const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
  LaunchKey key;
  key.name = name_of(kernel.name);
  const auto unsigned_of = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  key.grid[0] = unsigned_of(kernel.gridX);
  key.grid[1] = unsigned_of(kernel.gridY);
  key.grid[2] = unsigned_of(kernel.gridZ);
  key.block[0] = unsigned_of(kernel.blockX);
  key.block[1] = unsigned_of(kernel.blockY);
  key.block[2] = unsigned_of(kernel.blockZ);
  key.cluster[0] = kernel.clusterX;
  key.cluster[1] = kernel.clusterY;
  key.cluster[2] = kernel.clusterZ;
  key.registers = kernel.registersPerThread;
  key.static_shared = unsigned_of(kernel.staticSharedMemory);
  key.dynamic_shared = unsigned_of(kernel.dynamicSharedMemory);
  key.local_memory = kernel.localMemoryPerThread;
  const std::uint32_t launch = launch_of(key);
  ++kernels_seen_;
  if (audits_now_) audited_kernels_.insert_or_assign(kernel.correlationId, launch);
  if (kernel.start == 0 || kernel.end < kernel.start) {
    ++without_time_;
    return;
  }
  capture::Kernels& rows = this->rows<capture::Kernels>();
  rows.start.push_back(time_of(kernel.start));
  rows.duration.push_back(time_of(kernel.end - kernel.start));
  rows.launch.push_back(launch);
  rows.correlation.push_back(kernel.correlationId);
  rows.stream.push_back(kernel.streamId);
  rows.device.push_back(static_cast<std::uint8_t>(kernel.deviceId));
  rows.graph.push_back(kernel.graphId);
  rows.node.push_back(kernel.graphNodeId);
}

void ProcessTables::add_api(const CUpti_Activity* record, CUpti_CallbackDomain domain) {
  const auto& call = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
  const std::uint64_t key = (static_cast<std::uint64_t>(domain) << 32) | call.cbid;
  auto found = functions_.find(key);
  if (found == functions_.end()) {
    const char* name = nullptr;
    cupti_.cuptiGetCallbackName(domain, call.cbid, &name);
    std::string_view text = name == nullptr ? "unknown" : name;
    // Versions of one function are one for a reader: cudaLaunchKernel_v7000.
    if (const std::size_t version = text.rfind("_v"); version != std::string_view::npos)
      text = text.substr(0, version);
    found = functions_.emplace(key, Function{text_of(text), call_kind(text)}).first;
  }
  capture::Calls& rows = this->rows<capture::Calls>();
  rows.start.push_back(time_of(call.start));
  rows.duration.push_back(time_of(call.end - call.start));
  rows.function.push_back(found->second.text);
  rows.kind.push_back(static_cast<std::uint8_t>(found->second.kind));
  rows.thread.push_back(call.threadId);
  rows.correlation.push_back(call.correlationId);
  rows.result.push_back(call.returnValue);
}

void ProcessTables::add_marker(const CUpti_Activity* record) {
  const auto& marker = *reinterpret_cast<const CUpti_ActivityMarker2*>(record);
  const std::uint32_t thread =
      marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? marker.objectId.pt.threadId : 0;
  capture::Ranges& rows = this->rows<capture::Ranges>();
  const auto add = [&](const OpenRange& range, std::int64_t end) {
    rows.start.push_back(range.start);
    rows.duration.push_back(end - range.start);
    rows.text.push_back(range.text);
    rows.domain.push_back(range.domain);
    rows.thread.push_back(range.thread);
  };
  const std::int64_t time = time_of(marker.timestamp);
  if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    if (const auto found = open_ranges_.find(marker.id); found != open_ranges_.end()) {
      add(found->second, time);
      open_ranges_.erase(found);
    }
    return;
  }
  const OpenRange range{time, text_of(marker.name == nullptr ? "" : marker.name),
                        text_of(marker.domain == nullptr ? "" : marker.domain), thread};
  if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    open_ranges_.insert_or_assign(marker.id, range);
  } else {
    add(range, time);
  }
}

void ProcessTables::consume(std::uint8_t* bytes, std::size_t size) {
  const auto add_copy = [&](const auto& copy, MemoryKind from, MemoryKind to, unsigned to_device) {
    if (copy.start == 0) {
      ++without_time_;
      return;
    }
    capture::Copies& rows = this->rows<capture::Copies>();
    rows.start.push_back(time_of(copy.start));
    rows.duration.push_back(time_of(copy.end - copy.start));
    rows.bytes.push_back(copy.bytes);
    rows.from.push_back(static_cast<std::uint8_t>(from));
    rows.to.push_back(static_cast<std::uint8_t>(to));
    rows.correlation.push_back(copy.correlationId);
    rows.stream.push_back(copy.streamId);
    rows.device.push_back(static_cast<std::uint8_t>(copy.deviceId));
    rows.to_device.push_back(static_cast<std::uint8_t>(to_device));
    rows.graph.push_back(copy.graphId);
    rows.node.push_back(copy.graphNodeId);
  };
  for (CUpti_Activity* record = nullptr;
       cupti_.cuptiActivityGetNextRecord(bytes, size, &record) == CUPTI_SUCCESS && record != nullptr;) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: add_kernel(record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
        add_copy(copy, memory_kind(copy.srcKind), memory_kind(copy.dstKind), copy.deviceId);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
        add_copy(copy, memory_kind(copy.srcKind), memory_kind(copy.dstKind), copy.dstDeviceId);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto& set = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
        add_copy(set, MemoryKind::none, memory_kind(set.memoryKind), set.deviceId);
        break;
      }
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
        const auto& graph = *reinterpret_cast<const CUpti_ActivityGraphTrace*>(record);
        ++kernels_seen_;
        if (graph.start == 0) {
          ++without_time_;
          break;
        }
        capture::GraphLaunches& rows = this->rows<capture::GraphLaunches>();
        rows.start.push_back(time_of(graph.start));
        rows.duration.push_back(time_of(graph.end - graph.start));
        rows.graph.push_back(graph.graphId);
        rows.correlation.push_back(graph.correlationId);
        rows.stream.push_back(graph.streamId);
        rows.device.push_back(static_cast<std::uint8_t>(graph.deviceId));
        break;
      }
      case CUPTI_ACTIVITY_KIND_OVERHEAD: {
        const auto& overhead = *reinterpret_cast<const CUpti_ActivityOverhead2*>(record);
        capture::Overheads& rows = this->rows<capture::Overheads>();
        rows.start.push_back(time_of(overhead.start));
        rows.duration.push_back(time_of(overhead.end - overhead.start));
        rows.kind.push_back(static_cast<std::uint8_t>(overhead_kind(overhead.overheadKind)));
        rows.thread.push_back(
            overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? overhead.objectId.pt.threadId : 0);
        break;
      }
      case CUPTI_ACTIVITY_KIND_DRIVER: add_api(record, CUPTI_CB_DOMAIN_DRIVER_API); break;
      case CUPTI_ACTIVITY_KIND_RUNTIME: add_api(record, CUPTI_CB_DOMAIN_RUNTIME_API); break;
      case CUPTI_ACTIVITY_KIND_MARKER: add_marker(record); break;
      case CUPTI_ACTIVITY_KIND_MEMORY2: {
        const auto& event = *reinterpret_cast<const CUpti_ActivityMemory3*>(record);
        capture::Memory& rows = this->rows<capture::Memory>();
        rows.time.push_back(time_of(event.timestamp));
        rows.kind.push_back(static_cast<std::uint8_t>(event.memoryOperationType ==
                                                              CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                          ? capture::MemoryEvent::allocate
                                                          : capture::MemoryEvent::free));
        rows.bytes.push_back(event.bytes);
        rows.address.push_back(event.address);
        rows.memory.push_back(static_cast<std::uint8_t>(memory_kind(event.memoryKind)));
        rows.device.push_back(static_cast<std::uint8_t>(event.deviceId));
        break;
      }
      default: break;
    }
  }
}

void ProcessTables::add_window(std::int64_t time, capture::Detail detail) {
  rows<capture::Windows>().from.push_back(time);
  rows<capture::Windows>().detail.push_back(static_cast<std::uint8_t>(detail));
}

void ProcessTables::add_launch_count(std::int64_t time, std::uint64_t launches) {
  rows<capture::LaunchCounts>().time.push_back(time);
  rows<capture::LaunchCounts>().launches.push_back(launches);
}

void ProcessTables::add_loss(LossKind kind, std::int64_t from, std::int64_t to, std::uint64_t count,
                             std::string sentence) {
  capture::Losses& rows = this->rows<capture::Losses>();
  rows.from.push_back(from);
  rows.to.push_back(to);
  rows.kind.push_back(static_cast<std::uint8_t>(kind));
  rows.count.push_back(count);
  rows.sentence.push_back(std::move(sentence));
}

void ProcessTables::add_devices() {
  constexpr int kClockKilohertz = 13, kMultiprocessors = 16;  // CUdevice_attribute
  const Driver& functions = driver();
  int count = 0;
  if (functions.cuDeviceGetCount == nullptr || functions.cuDeviceGetUuid == nullptr ||
      functions.cuDeviceGetName == nullptr || functions.cuDeviceGetAttribute == nullptr ||
      functions.cuDeviceGet == nullptr || functions.cuDeviceGetCount(&count) != 0) {
    return;
  }
  capture::Devices& rows = this->rows<capture::Devices>();
  for (int i = 0; i < count && i < 256; ++i) {
    int device = 0, clock = 0, multiprocessors = 0;
    std::array<unsigned char, 16> uuid{};
    std::array<char, 128> name{};
    if (functions.cuDeviceGet(&device, i) != 0) continue;
    functions.cuDeviceGetUuid(uuid.data(), device);
    functions.cuDeviceGetName(name.data(), name.size() - 1, device);
    functions.cuDeviceGetAttribute(&clock, kClockKilohertz, device);
    functions.cuDeviceGetAttribute(&multiprocessors, kMultiprocessors, device);
    std::string text = "GPU-";
    for (std::size_t k = 0; k < uuid.size(); ++k) {
      constexpr const char* kDigits = "0123456789abcdef";
      if (k == 4 || k == 6 || k == 8 || k == 10) text += '-';
      text += kDigits[uuid[k] >> 4];
      text += kDigits[uuid[k] & 15];
    }
    rows.device.push_back(static_cast<std::uint8_t>(i));
    rows.uuid.push_back(text);
    rows.name.emplace_back(name.data());
    rows.multiprocessors.push_back(static_cast<std::uint32_t>(multiprocessors));
    rows.clock_mhz.push_back(static_cast<std::uint32_t>(clock / 1000));
  }
}

void ProcessTables::begin_audit() {
  audits_now_ = true;
  audited_kernels_.clear();
}

void ProcessTables::end_audit() {
  audits_now_ = false;
  audited_kernels_.clear();
}

void ProcessTables::audit(std::uint32_t correlation, const std::string& name) {
  const auto found = audited_kernels_.find(correlation);
  if (found == audited_kernels_.end()) return;
  const std::uint32_t id = found->second;
  const bool is_same = *name_texts_[launch_keys_[id].name] == name;
  const NameAudit audit = is_same ? NameAudit::same : NameAudit::corrected;
  if (audits_[id] == audit) return;
  audits_[id] = audit;
  write_launch(id, audit, name);
}

std::size_t ProcessTables::waiting() const {
  return std::apply([](const auto&... writers) { return (writers.size() + ...); }, writers_);
}

void ProcessTables::write(std::int64_t now) {
  if (without_time_ > 0) {
    add_loss(LossKind::no_time, without_time_from_, now, without_time_,
             "CUPTI gave no times for them: it does so when its own memory on the GPU is full");
    without_time_ = 0;
  }
  without_time_from_ = now;
  // Launches and texts stand before the rows that name them: a kill between two writes then leaves no row
  // without.
  std::apply(
      [&](auto&... writers) {
        const auto write_one = [&](auto& writer) {
          const std::size_t count = writer.size();
          const int problem = writer.write();
          if (problem == 0) return;
          lost_on_disk_ += count;
          if (disk_problem_ == 0) disk_full_at_ = now;
          disk_problem_ = problem;
        };
        (write_one(writers), ...);
      },
      writers_);
  if (lost_on_disk_ > 0) {
    add_loss(LossKind::disk, disk_full_at_, now, lost_on_disk_,
             std::string("the rows could not be written: ") + std::strerror(disk_problem_));
    if (std::get<capture::TableWriter<capture::Losses>>(writers_).write() == 0) {
      lost_on_disk_ = 0;
      disk_full_at_ = now;
    }
  }
}

void ProcessTables::finish(std::int64_t now) {
  write(now);
  std::apply([](auto&... writers) { (writers.finish(), ...); }, writers_);
}

}  // namespace jitterscope::recorder
