// A trace of torch.profiler as columns.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "capture/format/call_kind.hpp"
#include "import/json.hpp"
#include "import/trace_event.hpp"
#include "jitterscope/error.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {
namespace {

namespace dom = simdjson::dom;

using capture::MemoryKind;
using capture::OverheadKind;

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
MemoryKind memory_of(std::string_view word) {
  if (word.starts_with("Pageable")) return MemoryKind::pageable;
  if (word.starts_with("Pinned")) return MemoryKind::pinned;
  if (word.starts_with("Device")) return MemoryKind::device;
  if (word.starts_with("Array")) return MemoryKind::array;
  if (word.starts_with("Managed")) return MemoryKind::managed;
  return MemoryKind::device;
}

void read_memories(std::string_view name, WorkName& work) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos) return;
  std::string_view inside = name.substr(open + 1);
  inside = inside.substr(0, inside.find(')'));
  const std::size_t arrow = inside.find("-> ");
  work.to = memory_of(arrow == std::string_view::npos ? inside : inside.substr(arrow + 3));
  if (work.kind == WorkKind::copy) work.from = memory_of(inside);
}

OverheadKind overhead_of(std::string_view name) {
  constexpr std::pair<std::string_view, OverheadKind> kKinds[] = {
      {"Driver Compiler", OverheadKind::compiler},
      {"Buffer Flush", OverheadKind::flush},
      {"Instrumentation", OverheadKind::instrumentation},
      {"Resource", OverheadKind::resource},
      {"Runtime Triggered Module Loading", OverheadKind::module_load},
      {"Lazy Function Loading", OverheadKind::lazy_load},
      {"Command Buffer Full", OverheadKind::full_queue},
  };
  for (const auto& [word, kind] : kKinds) {
    if (name == word) return kind;
  }
  return OverheadKind::other;
}

class TraceReader {
 public:
  explicit TraceReader(const std::filesystem::path& file) : file_(file), pieces_(file) {}

  Timeline read() {
    std::optional<simdjson::padded_string> piece = pieces_.next();
    const bool has_pieces = piece.has_value();
    if (has_pieces) read_head();
    for (; piece; piece = pieces_.next()) read_piece(*piece);
    Timeline timeline;
    timeline.source = file_.string();
    if (!pieces_.problem().empty()) {
      if (!has_pieces) {
        std::error_code error;  // of what is no file
        throw UsageError(fmt::format(
            "'{}' is no capture, no trace of torch.profiler and no SQLite export of Nsight Systems: {}",
            file_.string(), std::filesystem::is_empty(file_, error) ? "it is empty" : pieces_.problem()));
      }
      process_.losses.push_back({{}, capture::LossKind::not_recorded, 0, pieces_.problem()});
    }
    if (damaged_ > 0)
      process_.losses.push_back(
          {{}, capture::LossKind::not_recorded, damaged_, "parts of the trace are no JSON"});
    process_.label = file_.filename().string();
    process_.rank = rank_;
    for (auto& [number, work] : devices_) {
      sort_by_begin(work);
      process_.devices.push_back(std::move(work));
    }
    std::sort(process_.ranges.begin(), process_.ranges.end(),
              [](const NamedRange& a, const NamedRange& b) { return a.span.begin < b.span.begin; });
    timeline.processes.push_back(std::move(process_));
    timeline.holds_operators = holds_operators_;
    return timeline;
  }

 private:
  // The text before the events is an object that was cut in half.
  void read_head() {
    dom::parser parser;
    dom::element head;
    if (parser.parse(pieces_.head() + "\"end\": 0}").get(head) != simdjson::SUCCESS) return;
    dom::array devices;
    if (head["deviceProperties"].get(devices) == simdjson::SUCCESS) {
      for (const dom::element device : devices) {
        std::string_view name;
        std::int64_t id = 0;
        if (device["name"].get(name) != simdjson::SUCCESS || device["id"].get(id) != simdjson::SUCCESS)
          continue;
        process_.device_names.push_back({static_cast<std::uint32_t>(id), "", std::string(name)});
      }
    }
    std::int64_t rank = 0;
    if (head["distributedInfo"]["rank"].get(rank) == simdjson::SUCCESS && rank >= 0)
      rank_ = static_cast<std::uint32_t>(rank);
  }

  void read_piece(simdjson::padded_string& piece) {
    try {
      read_events(piece);
    } catch (const simdjson::simdjson_error&) {
      // A kernel's name may hold bytes that JSON forbids. Events that were read before the bad one are not
      // read twice.
      if (mend_strings(piece.data(), piece.size()).count == 0) {
        ++damaged_;
        done_of_piece_ = 0;
        return;
      }
      try {
        read_events(piece);
      } catch (const simdjson::simdjson_error&) {
        ++damaged_;
      }
    }
    done_of_piece_ = 0;
  }

  void read_events(const simdjson::padded_string& piece) {
    const std::size_t skipped = done_of_piece_;
    std::size_t index = 0;
    simdjson::ondemand::document document = parser_.iterate(piece);
    for (simdjson::ondemand::value value : document.get_array()) {
      simdjson::ondemand::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) continue;
      const TraceEvent event = read_trace_event(object);
      if (index++ < skipped) continue;
      add(event);
      done_of_piece_ = index;
    }
  }

  struct Arguments {
    std::int64_t correlation = 0, device = 0, stream = 0, bytes = 0;
    std::uint32_t grid[3] = {}, block[3] = {};
  };
  Arguments arguments_of(const TraceEvent& event) {
    Arguments result;
    dom::element arguments;
    if (event.arguments.empty() || arguments_.parse(event.arguments).get(arguments) != simdjson::SUCCESS)
      return result;
    const auto number = [&](const char* key, std::int64_t& value) {
      std::int64_t whole = 0;
      std::string_view text;
      if (arguments[key].get(whole) == simdjson::SUCCESS) value = whole;
      if (arguments[key].get(text) == simdjson::SUCCESS) value = std::atoll(std::string(text).c_str());
    };
    number("correlation", result.correlation);
    number("device", result.device);
    number("stream", result.stream);
    number("bytes", result.bytes);
    const auto three = [&](const char* key, std::uint32_t(&values)[3]) {
      dom::array array;
      if (arguments[key].get(array) != simdjson::SUCCESS) return;
      std::size_t i = 0;
      for (const dom::element each : array) {
        std::int64_t whole = 0;
        if (i < 3 && each.get(whole) == simdjson::SUCCESS) values[i++] = static_cast<std::uint32_t>(whole);
      }
    };
    if (event.category == TraceCategory::kernel) {
      three("grid", result.grid);
      three("block", result.block);
    }
    return result;
  }

  void add(const TraceEvent& event) {
    if (!event.complete || !event.begin) return;
    const Time begin = *event.begin, duration = event.duration.value_or(0);
    switch (event.category) {
      case TraceCategory::kernel:
      case TraceCategory::copy:
      case TraceCategory::set: add_work(event, begin, duration); break;
      case TraceCategory::launch: add_call(event, begin, duration); break;
      case TraceCategory::annotation:
        process_.ranges.push_back({std::string(event.name), {begin, begin + duration}});
        break;
      case TraceCategory::overhead:
        process_.overheads.start.push_back(begin);
        process_.overheads.duration.push_back(duration);
        process_.overheads.kind.push_back(static_cast<std::uint8_t>(overhead_of(event.name)));
        process_.overheads.thread.push_back(0);
        break;
      case TraceCategory::called_operator: holds_operators_ = holds_operators_ || has_shapes(event); break;
      case TraceCategory::other: break;
    }
  }

  // The search for the key is cheap: a trace without shapes parses no operator's arguments.
  bool has_shapes(const TraceEvent& event) {
    dom::element arguments;
    dom::array shapes;
    return event.arguments.find("Input Dims") != std::string_view::npos &&
           arguments_.parse(event.arguments).get(arguments) == simdjson::SUCCESS &&
           arguments["Input Dims"].get(shapes) == simdjson::SUCCESS;
  }

  void add_work(const TraceEvent& event, Time begin, Time duration) {
    const Arguments arguments = arguments_of(event);
    WorkName name;
    name.kind = event.category == TraceCategory::kernel ? WorkKind::kernel
                : event.category == TraceCategory::copy ? WorkKind::copy
                                                        : WorkKind::set;
    key_.assign(event.name);
    for (std::size_t i = 0; i < 3; ++i) {
      key_ += fmt::format(" {} {}", arguments.grid[i], arguments.block[i]);
    }
    const auto [known, is_new] = names_.try_emplace(key_, static_cast<std::uint32_t>(process_.names.size()));
    if (is_new) {
      name.name = event.name;
      std::copy(std::begin(arguments.grid), std::end(arguments.grid), name.grid);
      std::copy(std::begin(arguments.block), std::end(arguments.block), name.block);
      if (name.kind != WorkKind::kernel) read_memories(event.name, name);
      process_.names.push_back(std::move(name));
    }
    const auto device = static_cast<std::uint32_t>(std::clamp<std::int64_t>(arguments.device, 0, 255));
    DeviceWork& work = devices_[device];
    work.device = device;
    work.begin.push_back(begin);
    work.end.push_back(begin + duration);
    work.what.push_back(known->second);
    work.stream.push_back(static_cast<std::uint32_t>(arguments.stream));
    work.correlation.push_back(static_cast<std::uint32_t>(arguments.correlation));
    if (arguments.bytes > 0 || !work.bytes.empty()) {
      work.bytes.resize(work.begin.size());
      work.bytes.back() = static_cast<std::uint64_t>(std::max<std::int64_t>(arguments.bytes, 0));
    }
  }

  void add_call(const TraceEvent& event, Time begin, Time duration) {
    const auto [known, is_new] =
        functions_.try_emplace(std::string(event.name), static_cast<std::uint32_t>(process_.texts.size()));
    if (is_new) process_.texts.emplace_back(event.name);
    capture::Calls& calls = process_.calls;
    calls.start.push_back(begin);
    calls.duration.push_back(duration);
    calls.function.push_back(known->second);
    calls.kind.push_back(static_cast<std::uint8_t>(capture::call_kind_of(event.name)));
    calls.thread.push_back(static_cast<std::uint32_t>(std::atoll(std::string(event.thread).c_str())));
    calls.correlation.push_back(static_cast<std::uint32_t>(arguments_of(event).correlation));
    calls.result.push_back(0);
  }

  std::filesystem::path file_;
  TracePieces pieces_;
  simdjson::ondemand::parser parser_;
  dom::parser arguments_;
  Process process_;
  std::optional<std::uint32_t> rank_;
  std::map<std::uint32_t, DeviceWork> devices_;
  std::unordered_map<std::string, std::uint32_t> names_, functions_;
  std::string key_;
  std::size_t done_of_piece_ = 0;
  std::uint64_t damaged_ = 0;
  bool holds_operators_ = false;
};

}  // namespace

Timeline read_profiler_trace(const std::filesystem::path& file) { return TraceReader(file).read(); }

}  // namespace jitterscope::timeline
