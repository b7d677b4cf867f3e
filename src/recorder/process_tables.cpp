#include "recorder/process_tables.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>

#include "capture/format/call_kind.hpp"

namespace jitterscope::recorder {

using capture::LossKind;
using capture::MemoryKind;
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

std::int64_t time_of(std::uint64_t nanoseconds) { return static_cast<std::int64_t>(nanoseconds); }

// A record's time from start to end; none where it is without times.
std::int64_t length_of(std::uint64_t start, std::uint64_t end) {
  return end < start ? 0 : time_of(end - start);
}

// Memory is bounded: programs make new texts ("step 1234") as long as they run.
constexpr std::size_t kMostTexts = std::size_t{1} << 16, kMostRanges = std::size_t{1} << 16,
                      kMostKept = std::size_t{1} << 18;
// Kept free for the rows that say what a full disk has not taken.
constexpr std::size_t kReserve = std::size_t{64} << 10;
constexpr std::size_t kMostWindows = 1024;

}  // namespace

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

ProcessTables::ProcessTables(const Cupti& cupti, const std::string& folder)
    : cupti_(cupti),
      writers_(folder, folder, folder, folder, folder, folder, folder, folder, folder, folder, folder, folder,
               folder, folder, folder, folder),
      launches_(rows<capture::Launches>()),
      counted_from_(now()) {
  writer<capture::Losses>().reserve(kReserve);
  // Windows tell what the other rows mean: they need no memory later.
  windows_.reserve(kMostWindows);
  describe(rows<capture::Windows>(), [](const char*, auto& column) { column.reserve(kMostWindows); });
}

std::uint32_t ProcessTables::text_of(std::string_view text) {
  if (texts_.size() >= kMostTexts) texts_.clear();
  const auto [found, is_new] = texts_.try_emplace(std::string(text), next_text_);
  if (!is_new) return found->second;
  try {
    rows<capture::Texts>().id.push_back(next_text_);
    rows<capture::Texts>().text.push_back(found->first);
  } catch (const std::bad_alloc&) {
    texts_.erase(found);
    throw;
  }
  return next_text_++;
}

void ProcessTables::add_kernel(const CUpti_Activity* record) {
  // Later versions of the record only add members at its end.
  const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
  ++kernels_seen_;
  LaunchKey key;
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
  const std::uint32_t launch = launches_.find(kernel.name, key, kernel.correlationId, kernel.graphId != 0);
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

template <class Record>
void ProcessTables::add_copy(const Record& copy, MemoryKind from, MemoryKind to, unsigned to_device) {
  if (copy.start == 0 || copy.end < copy.start) {
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
}

void ProcessTables::add_graph(const CUpti_Activity* record) {
  const auto& graph = *reinterpret_cast<const CUpti_ActivityGraphTrace*>(record);
  ++kernels_seen_;
  if (graph.start == 0 || graph.end < graph.start) {
    ++without_time_;
    return;
  }
  // Graphs as a whole stay on in windows of nothing.
  if (detail_at(time_of(graph.start)) == capture::Detail::off) return;
  capture::GraphLaunches& rows = this->rows<capture::GraphLaunches>();
  rows.start.push_back(time_of(graph.start));
  rows.duration.push_back(time_of(graph.end - graph.start));
  rows.graph.push_back(graph.graphId);
  rows.correlation.push_back(graph.correlationId);
  rows.stream.push_back(graph.streamId);
  rows.device.push_back(static_cast<std::uint8_t>(graph.deviceId));
}

void ProcessTables::add_overhead(const CUpti_Activity* record) {
  const auto& overhead = *reinterpret_cast<const CUpti_ActivityOverhead2*>(record);
  capture::Overheads& rows = this->rows<capture::Overheads>();
  rows.start.push_back(time_of(overhead.start));
  rows.duration.push_back(length_of(overhead.start, overhead.end));
  rows.kind.push_back(static_cast<std::uint8_t>(overhead_kind(overhead.overheadKind)));
  rows.thread.push_back(overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? overhead.objectId.pt.threadId
                                                                            : 0);
}

void ProcessTables::add_memory(const CUpti_Activity* record) {
  const auto& event = *reinterpret_cast<const CUpti_ActivityMemory3*>(record);
  const bool allocates = event.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  capture::Memory& rows = this->rows<capture::Memory>();
  rows.time.push_back(time_of(event.timestamp));
  rows.kind.push_back(
      static_cast<std::uint8_t>(allocates ? capture::MemoryEvent::allocate : capture::MemoryEvent::free));
  rows.bytes.push_back(event.bytes);
  rows.address.push_back(event.address);
  rows.memory.push_back(static_cast<std::uint8_t>(memory_kind(event.memoryKind)));
  rows.device.push_back(static_cast<std::uint8_t>(event.deviceId));
}

// Audits turn records of launch calls on for a moment: they belong to no window in which calls are recorded.
capture::Detail ProcessTables::detail_at(std::int64_t time) const {
  for (auto window = windows_.rbegin(); window != windows_.rend(); ++window) {
    if (window->from <= time) return window->detail;
  }
  return capture::Detail::off;
}

void ProcessTables::add_api(const CUpti_Activity* record, CUpti_CallbackDomain domain) {
  const auto& call = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
  if (detail_at(time_of(call.start)) != capture::Detail::full) return;
  const std::uint64_t key = (static_cast<std::uint64_t>(domain) << 32) | call.cbid;
  auto found = functions_.find(key);
  if (found == functions_.end()) {
    const char* name = nullptr;
    cupti_.cuptiGetCallbackName(domain, call.cbid, &name);
    std::string_view text = name == nullptr ? "unknown" : name;
    // Versions of one function are one for a reader: cudaLaunchKernel_v7000.
    if (const std::size_t version = text.rfind("_v"); version != std::string_view::npos)
      text = text.substr(0, version);
    found = functions_.emplace(key, Function{text_of(text), capture::call_kind_of(text)}).first;
  }
  capture::Calls& rows = this->rows<capture::Calls>();
  rows.start.push_back(time_of(call.start));
  rows.duration.push_back(length_of(call.start, call.end));
  rows.function.push_back(found->second.text);
  rows.kind.push_back(static_cast<std::uint8_t>(found->second.kind));
  rows.thread.push_back(call.threadId);
  rows.correlation.push_back(call.correlationId);
  rows.result.push_back(call.returnValue);
}

void ProcessTables::add_operation(const LibraryCall& call, const CallDescription* description,
                                  const CallDescription* inner) {
  // A row that memory fails keeps its number, so that no other gets what was written of it.
  const std::uint64_t id = next_operation_++;
  const bool is_known = description != nullptr;
  const Library library = is_known ? description->library : Library::cudnn;
  // cuBLAS does not tell which algorithm it takes, but the call of cuBLASLt within does.
  const std::string& engine = is_known && description->engine.empty() && inner != nullptr
                                  ? inner->engine
                                  : (is_known ? description->engine : std::string());
  capture::Operations& rows = this->rows<capture::Operations>();
  const std::uint32_t operation = text_of(is_known ? description->words : "a call of which nothing is known");
  const std::uint32_t provider = text_of(is_known ? name_of(library) : ""),
                      version = text_of(is_known ? version_of(library) : ""), engine_text = text_of(engine);
  const std::size_t listed = std::min<std::size_t>(call.launches, LibraryCall::kMostLaunches);
  for (std::size_t i = 0; i < listed; ++i) {
    this->rows<capture::OperationLaunches>().operation.push_back(id);
    this->rows<capture::OperationLaunches>().correlation.push_back(call.correlations[i]);
  }
  for (std::size_t i = 0; is_known && i < description->operands.size(); ++i) {
    const CallDescription::Operand& operand = description->operands[i];
    capture::Operands& operands = this->rows<capture::Operands>();
    const std::uint32_t name = text_of(operand.name);
    operands.operation.push_back(id);
    operands.name.push_back(name);
    operands.use.push_back(static_cast<std::uint8_t>(operand.use));
    operands.address.push_back(call.addresses[i]);
    operands.bytes.push_back(operand.bytes);
  }
  rows.id.push_back(id);
  rows.start.push_back(call.start);
  rows.duration.push_back(call.duration);
  rows.thread.push_back(call.thread);
  rows.operation.push_back(operation);
  rows.provider.push_back(provider);
  rows.version.push_back(version);
  rows.engine.push_back(engine_text);
  rows.workspace.push_back(call.workspace);
  rows.workspace_bytes.push_back(call.workspace_bytes > 0 || !is_known ? call.workspace_bytes
                                                                       : description->workspace_bytes);
  rows.first_correlation.push_back(call.launches == 0 ? 0 : call.correlations[0]);
  rows.last_correlation.push_back(call.last_launch);
  rows.launches.push_back(call.launches);
}

void ProcessTables::add_range(const OpenRange& range, std::int64_t end) {
  capture::Ranges& rows = this->rows<capture::Ranges>();
  rows.start.push_back(range.start);
  rows.duration.push_back(std::max<std::int64_t>(0, end - range.start));
  rows.text.push_back(range.text);
  rows.domain.push_back(range.domain);
  rows.thread.push_back(range.thread);
}

void ProcessTables::add_marker(const CUpti_Activity* record) {
  const auto& marker = *reinterpret_cast<const CUpti_ActivityMarker2*>(record);
  const std::uint32_t thread =
      marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? marker.objectId.pt.threadId : 0;
  const std::int64_t time = time_of(marker.timestamp);
  if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    if (const auto found = open_ranges_.find(marker.id); found != open_ranges_.end()) {
      if (found->second.is_named) --named_ranges_.open;
      add_range(found->second, time);
      open_ranges_.erase(found);
    } else {
      // Where another thread ends the range, its buffer may come first. Ends whose start was before the
      // recording never find it.
      if (early_ends_.size() >= kMostRanges) {
        lost_ranges_ += early_ends_.size();
        early_ends_.clear();
      }
      early_ends_.insert_or_assign(marker.id, time);
    }
    return;
  }
  const char* name = marker.name == nullptr ? "" : marker.name;
  const bool is_start = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  const bool is_named = is_start && !named_ranges_.name.empty() && named_ranges_.name == name;
  if (is_named) ++named_ranges_.begun;
  const OpenRange range{time, text_of(name), text_of(marker.domain == nullptr ? "" : marker.domain), thread,
                        is_named};
  if (!is_start) {
    if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) != 0) add_range(range, time);
  } else if (const auto end = early_ends_.find(marker.id); end != early_ends_.end()) {
    add_range(range, end->second);
    early_ends_.erase(end);
  } else if (open_ranges_.size() < kMostRanges) {
    open_ranges_.insert_or_assign(marker.id, range);
    if (is_named) ++named_ranges_.open;
  } else {
    ++lost_ranges_;
  }
}

void ProcessTables::forget_open_ranges(std::int64_t since) {
  if (!open_ranges_.empty()) {
    add_loss(LossKind::not_recorded, since, since, open_ranges_.size(),
             "ranges whose end the program's own profiler may have");
  }
  open_ranges_.clear();
  early_ends_.clear();
  named_ranges_.open = 0;
}

void ProcessTables::add(const CUpti_Activity* record) {
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
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: add_graph(record); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: add_overhead(record); break;
    case CUPTI_ACTIVITY_KIND_DRIVER: add_api(record, CUPTI_CB_DOMAIN_DRIVER_API); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME: add_api(record, CUPTI_CB_DOMAIN_RUNTIME_API); break;
    case CUPTI_ACTIVITY_KIND_MARKER: add_marker(record); break;
    case CUPTI_ACTIVITY_KIND_MEMORY2: add_memory(record); break;
    default: break;
  }
}

void ProcessTables::consume(std::uint8_t* bytes, std::size_t size) {
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  std::uint64_t records = 0;
  while ((result = cupti_.cuptiActivityGetNextRecord(bytes, size, &record)) == CUPTI_SUCCESS &&
         record != nullptr) {
    ++records;
    try {
      add(record);
    } catch (const std::bad_alloc&) {
      ++without_memory_;
      recover();
    }
  }
  if (result == CUPTI_SUCCESS || result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
    bytes_seen_ += size;
    records_seen_ += records;
    return;
  }
  // A record that was not whole: CUPTI finds none behind it, and how long the last one was is not known.
  const std::uint8_t* last = record == nullptr ? bytes : reinterpret_cast<const std::uint8_t*>(record);
  const std::uint64_t known = records == 0 ? 0 : 1;
  bytes_seen_ += static_cast<std::uint64_t>(last - bytes);
  records_seen_ += records - known;
  const std::uint64_t rest = count_of(static_cast<std::uint64_t>(bytes + size - last));
  unread_ += std::max<std::uint64_t>(1, rest - std::min(rest, known));
}

std::uint64_t ProcessTables::count_of(std::uint64_t bytes) const {
  if (records_seen_ == 0) return bytes / sizeof(CUpti_ActivityKernel9);
  return static_cast<std::uint64_t>(std::llround(
      static_cast<double>(bytes) * static_cast<double>(records_seen_) / static_cast<double>(bytes_seen_)));
}

void ProcessTables::recover() {
  std::apply([](auto&... writers) { (writers.cut(writers.size()), ...); }, writers_);
}

void ProcessTables::add_window(std::int64_t time, capture::Detail detail, bool between_ranges,
                               bool has_operations) {
  if (windows_.size() == kMostWindows) windows_.erase(windows_.begin(), windows_.begin() + kMostWindows / 2);
  windows_.push_back({time, detail});
  capture::Windows& rows = this->rows<capture::Windows>();
  rows.from.push_back(time);
  rows.detail.push_back(static_cast<std::uint8_t>(detail));
  rows.between_ranges.push_back(between_ranges ? 1 : 0);
  rows.operations.push_back(has_operations ? 1 : 0);
}

void ProcessTables::add_launch_count(std::int64_t time, std::uint64_t launches) {
  rows<capture::LaunchCounts>().time.push_back(time);
  rows<capture::LaunchCounts>().launches.push_back(launches);
}

void ProcessTables::add_loss(LossKind kind, std::int64_t from, std::int64_t to, std::uint64_t count,
                             const char* sentence) noexcept {
  const auto end = losses_.begin() + losses_waiting_;
  const auto same =
      std::find_if(losses_.begin(), end, [&](const Loss& loss) { return loss.sentence == sentence; });
  if (same == losses_.end()) return;  // there are not so many sentences
  if (same == end) {
    *same = {kind, from, to, 0, sentence};
    ++losses_waiting_;
  }
  same->from = std::min(same->from, from);
  same->to = std::max(same->to, to);
  same->count += count;
}

void ProcessTables::add_lost_bytes(std::int64_t from, std::int64_t to, std::uint64_t bytes) noexcept {
  add_loss(LossKind::no_buffer, from, to, count_of(bytes),
           "all buffers were full: the program launches faster than the records can be written");
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
  for (int i = devices_known_; i < count && i < 256; ++i) {
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
    devices_known_ = i + 1;  // where memory runs out, the others come later
  }
}

std::size_t ProcessTables::waiting() const {
  return std::apply([](const auto&... writers) { return (writers.size() + ...); }, writers_);
}

void ProcessTables::add_counted(std::int64_t now) noexcept {
  const auto count = [&](std::uint64_t& lost, LossKind kind, const char* sentence) {
    if (lost > 0) add_loss(kind, counted_from_, now, lost, sentence);
    lost = 0;
  };
  count(
      without_time_, LossKind::no_time,
      "CUPTI gave no times for them: they were under way at the end, or its own memory on the GPU was full");
  count(without_memory_, LossKind::no_buffer, "the program has left the recorder no memory");
  count(unread_, LossKind::dropped, "CUPTI gave buffers with records that were not whole");
  count(lost_ranges_, LossKind::not_recorded, "ranges were begun and not ended, too many at once");
  counted_from_ = now;
}

void ProcessTables::write(std::int64_t now, bool is_last) {
  // These are few, and other rows mean nothing without them: they wait until the disk has room again.
  const auto is_kept = [&]<class Table>(const capture::TableWriter<Table>& writer) {
    return !is_last && writer.size() < kMostKept &&
           (std::is_same_v<Table, capture::Texts> || std::is_same_v<Table, capture::Launches> ||
            std::is_same_v<Table, capture::Devices> || std::is_same_v<Table, capture::Windows>);
  };
  bool has_room = true;
  const auto write_one = [&]<class Table>(capture::TableWriter<Table>& writer) {
    if (std::is_same_v<Table, capture::Losses>) return;
    int problem = ENOMEM;
    try {
      problem = writer.write();
    } catch (const std::bad_alloc&) {  // as if there were no room
    }
    if (problem == 0) return;
    has_room = false;
    if (is_kept(writer)) return;
    const char* reason = ::strerrordesc_np(problem);
    add_loss(LossKind::disk, disk_full_at_ == 0 ? now : disk_full_at_, now, writer.size(),
             reason == nullptr ? "unknown error" : reason);
    writer.cut(0);
  };
  std::apply([&](auto&... writers) { (write_one(writers), ...); }, writers_);
  if (has_room) {
    disk_full_at_ = 0;
  } else if (disk_full_at_ == 0) {
    disk_full_at_ = next_losses_ = now;
  }
  add_counted(now);
  write_losses(now, is_last);
}

// A disk may be full for weeks, and a row takes a hundredth of what is kept free: while it is full, rows come
// at growing distances, some forty in a year, so that there is room for the last one.
void ProcessTables::write_losses(std::int64_t now, bool is_last) {
  const bool is_full = disk_full_at_ != 0;
  if (losses_waiting_ == 0 || (is_full && !is_last && now < next_losses_)) return;
  if (is_full) next_losses_ = now + (now - disk_full_at_) / 2;
  capture::TableWriter<capture::Losses>& writer = this->writer<capture::Losses>();
  try {
    for (std::size_t i = 0; i < losses_waiting_; ++i) {
      const Loss& loss = losses_[i];
      writer.rows.from.push_back(loss.from);
      writer.rows.to.push_back(loss.to);
      writer.rows.kind.push_back(static_cast<std::uint8_t>(loss.kind));
      writer.rows.count.push_back(loss.count);
      writer.rows.sentence.push_back((loss.kind == LossKind::disk ? "the rows could not be written: " : "") +
                                     std::string(loss.sentence));
    }
    if (writer.write() == 0) losses_waiting_ = 0;
    if (!is_full) writer.reserve(kReserve);
  } catch (const std::bad_alloc&) {  // they wait
  }
  writer.cut(0);
}

void ProcessTables::finish(std::int64_t now) {
  for (const auto& [id, range] : open_ranges_) {
    try {
      add_range(range, now);
    } catch (const std::bad_alloc&) {
      ++without_memory_;
      recover();
    }
  }
  open_ranges_.clear();
  write(now, true);
  if (losses_waiting_ > 0) return;
  std::apply([](auto&... writers) { (writers.finish(), ...); }, writers_);
}

}  // namespace jitterscope::recorder
