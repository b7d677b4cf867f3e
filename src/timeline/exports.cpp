#include "timeline/exports.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <set>

#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"

namespace jitterscope::timeline {
namespace {

// A file that is written once and in order; what goes wrong is said with its name.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path) : path_(path), file_(std::fopen(path.c_str(), "wbxe")) {
    if (file_ == nullptr) fail();
  }
  ~NewFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
  }
  void finish() {
    const int result = std::fclose(file_);
    file_ = nullptr;
    if (result != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw FailedError(fmt::format("'{}' cannot be written: {}", path_.string(), std::strerror(errno)));
  }

  std::filesystem::path path_;
  std::FILE* file_;
};

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

const char* category_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kernel: return "kernel";
    case WorkKind::copy: return "gpu_memcpy";
    case WorkKind::set: return "gpu_memset";
    case WorkKind::graph: return "kernel";
  }
  return "kernel";
}

// As torch.profiler names them, so that its readers tell the memories: "Memcpy HtoD (Pinned -> Device)".
std::string trace_name(const WorkName& name) {
  if (name.kind == WorkKind::kernel || name.kind == WorkKind::graph) return full_name(name);
  const auto word = [](capture::MemoryKind kind) {
    constexpr const char* kWords[] = {"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed"};
    return kWords[static_cast<std::size_t>(kind)];
  };
  const auto side = [](capture::MemoryKind kind) {
    return kind == capture::MemoryKind::device ? 'D' : kind == capture::MemoryKind::array ? 'A' : 'H';
  };
  if (name.kind == WorkKind::set) return fmt::format("Memset ({})", word(name.to));
  return fmt::format("Memcpy {}to{} ({} -> {})", side(name.from), side(name.to), word(name.from),
                     word(name.to));
}

// The earliest time of all: files count from there, since a double holds no nanoseconds since 1970.
Time origin_of(const Timeline& timeline) {
  Time origin = 0;
  for (const Process& process : timeline.processes) {
    for (const DeviceWork& work : process.devices) {
      if (work.size() > 0 && (origin == 0 || work.begin.front() < origin)) origin = work.begin.front();
    }
    for (const Time start : process.calls.start) {
      if (origin == 0 || start < origin) origin = start;
    }
  }
  return origin;
}

std::string microseconds(Time nanoseconds) {
  return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", std::abs(nanoseconds) / 1000,
                     std::abs(nanoseconds) % 1000);
}

}  // namespace

void export_csv(const Timeline& timeline, const std::filesystem::path& path) {
  NewFile file(path);
  file.write("process,gpu,stream,begin_ns,duration_ns,kind,name,grid,block,bytes\n");
  for (const Process& process : timeline.processes) {
    std::vector<std::string> names;
    for (const WorkName& name : process.names) names.push_back(csv_text(full_name(name)));
    for (const DeviceWork& work : process.devices) {
      for (std::size_t i = 0; i < work.size(); ++i) {
        const WorkName& name = process.names[work.what[i]];
        const bool is_kernel = name.kind == WorkKind::kernel;
        file.write(fmt::format(
            "{},{},{},{},{},{},{},{},{},{}\n", csv_text(process.label), work.device, work.stream[i],
            work.begin[i], work.end[i] - work.begin[i], category_of(name.kind), names[work.what[i]],
            is_kernel ? fmt::format("{}x{}x{}", name.grid[0], name.grid[1], name.grid[2]) : "",
            is_kernel ? fmt::format("{}x{}x{}", name.block[0], name.block[1], name.block[2]) : "",
            work.bytes.empty() ? std::uint64_t{0} : work.bytes[i]));
      }
    }
  }
  file.finish();
}

void export_chrome(const Timeline& timeline, const std::filesystem::path& path) {
  NewFile file(path);
  const Time origin = origin_of(timeline);
  std::string devices;
  for (const Process& process : timeline.processes) {
    for (const ProcessDevice& device : process.device_names) {
      devices += fmt::format("{}{{\"id\": {}, \"name\": {}}}", devices.empty() ? "" : ", ", device.device,
                             json_text(device.name));
    }
    if (!devices.empty()) break;  // processes number their own
  }
  file.write(
      fmt::format("{{\"schemaVersion\": 1, \"deviceProperties\": [{}], \"traceEvents\": [\n", devices));
  const char* comma = "";
  std::size_t number = 0;
  for (const Process& process : timeline.processes) {
    // Processes of a trace are told by numbers; a GPU's work stands under its own, as torch.profiler has it.
    const std::size_t host = 1'000'000 + number, gpus = 1000 * number++;
    file.write(fmt::format(
        "{}{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {}, \"args\": {{\"name\": {}}}}}", comma,
        host, json_text(process.label)));
    comma = ",\n";
    std::vector<std::string> names;
    for (const WorkName& name : process.names) names.push_back(json_text(trace_name(name)));
    for (const DeviceWork& work : process.devices) {
      for (std::size_t i = 0; i < work.size(); ++i) {
        const WorkName& name = process.names[work.what[i]];
        std::string more;
        if (name.kind == WorkKind::kernel) {
          more = fmt::format(", \"grid\": [{}, {}, {}], \"block\": [{}, {}, {}]", name.grid[0], name.grid[1],
                             name.grid[2], name.block[0], name.block[1], name.block[2]);
        } else if (!work.bytes.empty()) {
          more = fmt::format(", \"bytes\": {}", work.bytes[i]);
        }
        file.write(fmt::format(
            "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, "
            "\"args\": {{\"device\": {}, \"stream\": {}, \"correlation\": {}{}}}}}",
            comma, category_of(name.kind), names[work.what[i]], gpus + work.device, work.stream[i],
            microseconds(work.begin[i] - origin), microseconds(work.end[i] - work.begin[i]), work.device,
            work.stream[i], work.correlation[i], more));
      }
    }
    const capture::Calls& calls = process.calls;
    for (std::size_t i = 0; i < calls.start.size(); ++i) {
      const std::string function =
          calls.function[i] < process.texts.size() ? process.texts[calls.function[i]] : "unknown";
      file.write(fmt::format(
          "{}{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, "
          "\"dur\": {}, \"args\": {{\"correlation\": {}}}}}",
          comma, json_text(function), host, calls.thread[i], microseconds(calls.start[i] - origin),
          microseconds(calls.duration[i]), calls.correlation[i]));
    }
    for (const NamedRange& range : process.ranges) {
      file.write(fmt::format(
          "{}{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": {}, \"pid\": {}, \"tid\": 0, \"ts\": {}, \"dur\": {}}}",
          comma, json_text(range.name), host, microseconds(range.span.begin - origin),
          microseconds(range.span.length())));
    }
  }
  file.write("\n]}\n");
  file.finish();
}

namespace {

// Fields of Perfetto's protos (protos/perfetto/trace), by their numbers there.
namespace field {
constexpr protozero::pbf_tag_type kPacket = 1;  // Trace
constexpr protozero::pbf_tag_type kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                                  kSequenceFlags = 13,
                                  kTrackDescriptor = 60;                                    // TracePacket
constexpr protozero::pbf_tag_type kUuid = 1, kName = 2, kParent = 5, kCounter = 8;          // TrackDescriptor
constexpr protozero::pbf_tag_type kNameId = 10, kType = 9, kTrack = 11, kDoubleValue = 44;  // TrackEvent
constexpr protozero::pbf_tag_type kEventNames = 2, kId = 1, kText = 2;  // InternedData, EventName
}  // namespace field

class PerfettoFile {
 public:
  explicit PerfettoFile(const std::filesystem::path& path) : file_(path) {}

  std::uint64_t track(const std::string& name, std::uint64_t parent = 0, bool is_counter = false) {
    std::string descriptor, packet;
    const std::uint64_t uuid = ++tracks_;
    protozero::pbf_writer writer(descriptor);
    writer.add_uint64(field::kUuid, uuid);
    writer.add_string(field::kName, name);
    if (parent != 0) writer.add_uint64(field::kParent, parent);
    if (is_counter) writer.add_message(field::kCounter, std::string());
    protozero::pbf_writer packet_writer(packet);
    packet_writer.add_message(field::kTrackDescriptor, descriptor);
    add(packet);
    return uuid;
  }
  void slice(std::uint64_t track, Time begin, Time end, const std::string& name) {
    constexpr std::int32_t kBegin = 1, kEnd = 2;
    event(track, begin, kBegin, name_id(name));
    event(track, end, kEnd, 0);
  }
  void value(std::uint64_t track, Time time, double value) {
    constexpr std::int32_t kCounterValue = 4;
    std::string event, packet;
    protozero::pbf_writer writer(event);
    writer.add_enum(field::kType, kCounterValue);
    writer.add_uint64(field::kTrack, track);
    writer.add_double(field::kDoubleValue, value);
    protozero::pbf_writer packet_writer(packet);
    packet_writer.add_uint64(field::kTimestamp, static_cast<std::uint64_t>(time));
    packet_writer.add_message(field::kTrackEvent, event);
    add(packet);
  }
  void finish() {
    flush();
    file_.finish();
  }

 private:
  void event(std::uint64_t track, Time time, std::int32_t type, std::uint64_t name) {
    event_.clear();
    packet_.clear();
    protozero::pbf_writer writer(event_);
    writer.add_enum(field::kType, type);
    writer.add_uint64(field::kTrack, track);
    if (name != 0) writer.add_uint64(field::kNameId, name);
    protozero::pbf_writer packet_writer(packet_);
    packet_writer.add_uint64(field::kTimestamp, static_cast<std::uint64_t>(time));
    packet_writer.add_message(field::kTrackEvent, event_);
    add(packet_);
  }
  std::uint64_t name_id(const std::string& name) {
    const auto [known, is_new] = names_.try_emplace(name, names_.size() + 1);
    if (is_new) {
      std::string text, interned, packet;
      protozero::pbf_writer text_writer(text);
      text_writer.add_uint64(field::kId, known->second);
      text_writer.add_string(field::kText, name);
      protozero::pbf_writer interned_writer(interned);
      interned_writer.add_message(field::kEventNames, text);
      protozero::pbf_writer packet_writer(packet);
      packet_writer.add_message(field::kInterned, interned);
      add(packet);
    }
    return known->second;
  }
  void add(std::string& packet) {
    constexpr std::uint32_t kOnlySequence = 1, kCleared = 1, kNeedsState = 2;
    protozero::pbf_writer writer(packet);
    writer.add_uint32(field::kSequence, kOnlySequence);
    writer.add_uint32(field::kSequenceFlags, is_first_ ? kCleared : kNeedsState);
    is_first_ = false;
    protozero::pbf_writer trace(buffer_);
    trace.add_message(field::kPacket, packet);
    if (buffer_.size() > (std::size_t{1} << 20)) flush();
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  NewFile file_;
  std::string buffer_, event_, packet_;
  std::map<std::string, std::uint64_t> names_;
  std::uint64_t tracks_ = 0;
  bool is_first_ = true;
};

}  // namespace

void export_perfetto(const Timeline& timeline, const std::filesystem::path& path) {
  PerfettoFile file(path);
  for (const Process& process : timeline.processes) {
    const std::uint64_t parent = file.track(process.label);
    std::vector<std::string> names;
    for (const WorkName& name : process.names) names.push_back(full_name(name));
    for (const DeviceWork& work : process.devices) {
      std::map<std::uint32_t, std::uint64_t> streams;
      for (std::size_t i = 0; i < work.size(); ++i) {
        const auto [known, is_new] = streams.try_emplace(work.stream[i], 0);
        if (is_new)
          known->second = file.track(fmt::format("GPU {} stream {}", work.device, work.stream[i]), parent);
        file.slice(known->second, work.begin[i], work.end[i], names[work.what[i]]);
      }
    }
    // A thread's calls one after another: a runtime's call holds the driver's.
    std::map<std::uint32_t, std::uint64_t> threads;
    const capture::Calls& calls = process.calls;
    for (std::size_t i = 0; i < calls.start.size(); ++i) {
      const auto [known, is_new] = threads.try_emplace(calls.thread[i], 0);
      if (is_new) known->second = file.track(fmt::format("calls of thread {}", calls.thread[i]), parent);
      file.slice(known->second, calls.start[i], calls.start[i] + calls.duration[i],
                 calls.function[i] < process.texts.size() ? process.texts[calls.function[i]] : "unknown");
    }
    if (!process.ranges.empty()) {
      const std::uint64_t track = file.track("ranges", parent);
      for (const NamedRange& range : process.ranges)
        file.slice(track, range.span.begin, range.span.end, range.name);
    }
  }
  const capture::Sensors& sensors = timeline.sensors;
  std::map<std::uint8_t, std::array<std::uint64_t, 4>> tracks;
  for (std::size_t i = 0; i < sensors.time.size(); ++i) {
    const auto [known, is_new] = tracks.try_emplace(sensors.gpu[i]);
    if (is_new) {
      const char* kNames[] = {"clock, MHz", "power, W", "temperature, °C", "time held by caps, s"};
      for (std::size_t k = 0; k < known->second.size(); ++k) {
        known->second[k] = file.track(fmt::format("GPU {} {}", sensors.gpu[i], kNames[k]), 0, true);
      }
    }
    file.value(known->second[0], sensors.time[i], sensors.clock_mhz[i]);
    file.value(known->second[1], sensors.time[i], 1e-3 * sensors.power_mw[i]);
    file.value(known->second[2], sensors.time[i], sensors.temperature[i]);
    file.value(known->second[3], sensors.time[i],
               1e-9 * static_cast<double>(sensors.throttled_power[i] + sensors.throttled_thermal[i] +
                                          sensors.throttled_brake[i]));
  }
  file.finish();
}

}  // namespace jitterscope::timeline
