#include "import/profiler_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "import/json.hpp"
#include "import/trace_event.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace ondemand = simdjson::ondemand;

class Reader {
 public:
  Reader(ProfilerEvents& events, std::string_view file_name) : events_(events), file_name_(file_name) {}

  void read(ondemand::document& document) {
    ondemand::json_type type{};
    if (document.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::array) {
      read_events(document.get_array());
      return;
    }
    for (ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "traceEvents") read_events(field.value().get_array());
      if (key == "deviceProperties") read_device(field.value());
    }
  }

  void join() {
    sort_operators();
    find_parents();
    find_callers();
  }

  bool has_events() const { return has_events_; }
  bool holds_traces() const { return holds_traces_; }

 private:
  struct Launch {
    std::uint32_t thread = 0;
    RecordTime begin = 0;
    bool is_of_graph = false;                 ///< a launch of a graph: all its kernels have this number
    bool is_repeated = false;                 ///< several launches share this number
    std::optional<std::int64_t> device = {};  ///< GPU of the first work with this number
  };

  void read_device(ondemand::value value) {
    ondemand::array devices;
    if (value.get_array().get(devices) != simdjson::SUCCESS) return;
    for (ondemand::value device : devices) {
      std::string_view name;
      if (events_.device.empty() && device["name"].get_string().get(name) == simdjson::SUCCESS) {
        events_.device = name;
      }
    }
  }

  void read_events(ondemand::array events) {
    has_events_ = true;
    for (ondemand::value event : events) {
      ondemand::object object;
      ondemand::array list;
      if (event.get_object().get(object) == simdjson::SUCCESS) {
        const TraceEvent read = read_trace_event(object);
        holds_traces_ |= read.holds_traces;
        add(read);
      } else if (event.get_array().get(list) == simdjson::SUCCESS) {
        read_events(list);  // lists joined by hand
      }
    }
  }

  void add(const TraceEvent& event) {
    if (!event.complete || !event.begin) return;
    const RecordTime begin = *event.begin, duration = event.duration.value_or(0);
    switch (event.category) {
      case TraceCategory::called_operator:
        events_.operators.push_back({event.name, event.arguments, thread_of(event), begin, begin + duration});
        events_.processes.emplace(event.process);
        break;
      case TraceCategory::launch:
        if (const std::int64_t number = work_arguments(event).correlation; number >= 0) {
          const auto [known, is_new] = launches_.try_emplace(
              number, Launch{thread_of(event), begin, event.name.find("Graph") != std::string_view::npos});
          known->second.is_repeated |= !is_new;
        }
        break;
      case TraceCategory::kernel:
      case TraceCategory::copy:
      case TraceCategory::set: {
        const WorkArguments arguments = work_arguments(event);
        events_.work.push_back({event.name, Nanoseconds(static_cast<double>(duration)), begin,
                                arguments.correlation, arguments.device, kNoParent, begin});
        if (arguments.device >= 0) events_.devices.insert(arguments.device);
        break;
      }
      case TraceCategory::annotation:
        if (event.name.starts_with("ProfilerStep#")) events_.steps.insert(event.name);
        break;
      case TraceCategory::overhead:
      case TraceCategory::other: break;
    }
  }

  std::uint32_t thread_of(const TraceEvent& event) {
    key_.assign(event.process).append("/").append(event.thread);
    return threads_.try_emplace(key_, static_cast<std::uint32_t>(threads_.size())).first->second;
  }

  struct WorkArguments {
    std::int64_t correlation = -1, device = -1;
  };
  WorkArguments work_arguments(const TraceEvent& event) {
    WorkArguments result;
    simdjson::dom::object arguments;
    simdjson::dom::element number;
    if (event.arguments.empty()) return result;
    try {
      if (parse_part(parser_, event.arguments).get(arguments) != simdjson::SUCCESS) return result;
    } catch (const simdjson::simdjson_error&) {
      return result;
    }
    if (arguments.at_key("correlation").get(number) == simdjson::SUCCESS)
      result.correlation = whole_number_of(number).value_or(-1);
    if (arguments.at_key("device").get(number) == simdjson::SUCCESS)
      result.device = whole_number_of(number).value_or(-1);
    return result;
  }

  [[noreturn]] void fail_of_processes(const std::string& sign) const {
    throw UsageError(fmt::format(
        "{}: {}: traces of several processes (ranks) were joined; give the trace of one process, as "
        "torch.profiler wrote it",
        file_name_, sign));
  }

  // If an operator begins together with its caller, the caller is the longer one, or the earlier in the file.
  void sort_operators() {
    std::stable_sort(events_.operators.begin(), events_.operators.end(),
                     [](const CalledOperator& a, const CalledOperator& b) {
                       return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
                     });
  }

  void find_parents() {
    const std::vector<CalledOperator>& operators = events_.operators;
    events_.parents.assign(operators.size(), kNoParent);
    for (std::size_t i = 1; i < operators.size(); ++i) {
      if (operators[i].thread != operators[i - 1].thread) continue;
      events_.parents[i] = innermost(i - 1, operators[i].end);
      for (std::size_t other = i - 1; other != events_.parents[i]; other = events_.parents[other])
        require_no_overlap(operators[other], operators[i]);
    }
  }

  // Fails if the later operator began within the other and ends after it: a thread calls one after another.
  void require_no_overlap(const CalledOperator& other, const CalledOperator& later) const {
    constexpr RecordTime kRounding = 1000;  // older PyTorch wrote whole microseconds
    constexpr std::string_view kPrefix = "aten::";
    if (later.begin + kRounding >= other.end || other.end + kRounding >= later.end) return;
    if (!other.name.starts_with(kPrefix) || !later.name.starts_with(kPrefix)) return;
    fail_of_processes(
        fmt::format("{} and {} ran in one thread at the same time, and neither called the other", other.name,
                    later.name));
  }

  // Returns the operator at or above a place that is still running at this time.
  std::size_t innermost(std::size_t place, RecordTime time) const {
    while (place != kNoParent && events_.operators[place].end < time) place = events_.parents[place];
    return place;
  }

  // Each process numbers its own launches, and a kernel names its launch by that number alone.
  void require_one_process(const GpuWork& work, Launch& launch) const {
    if (launch.is_repeated)
      fail_of_processes(fmt::format("two launches have the number (correlation) {}", work.correlation));
    if (work.device < 0 || launch.is_of_graph) return;
    if (!launch.device) launch.device = work.device;
    if (launch.device != work.device) {
      fail_of_processes(
          fmt::format("work on two GPUs, {} and {}, has the number (correlation) {} of one launch",
                      *launch.device, work.device, work.correlation));
    }
  }

  void find_callers() {
    const auto before = [](const Launch& launch, const CalledOperator& called) {
      return std::pair(launch.thread, launch.begin) < std::pair(called.thread, called.begin);
    };
    const std::vector<CalledOperator>& operators = events_.operators;
    for (GpuWork& work : events_.work) {
      const auto launch = launches_.find(work.correlation);
      if (launch == launches_.end()) continue;
      require_one_process(work, launch->second);
      work.launched = launch->second.begin;
      const auto after = std::upper_bound(operators.begin(), operators.end(), launch->second, before);
      if (after == operators.begin()) continue;
      const auto place = static_cast<std::size_t>(after - operators.begin()) - 1;
      if (operators[place].thread == launch->second.thread) work.caller = innermost(place, work.launched);
    }
    std::stable_sort(events_.work.begin(), events_.work.end(), [](const GpuWork& a, const GpuWork& b) {
      return std::pair(a.launched, a.begin) < std::pair(b.launched, b.begin);
    });
  }

  ProfilerEvents& events_;
  std::string_view file_name_;
  bool has_events_ = false, holds_traces_ = false;
  simdjson::dom::parser parser_;
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::unordered_map<std::int64_t, Launch> launches_;
};

}  // namespace

ProfilerEvents read_profiler_events(ReadableJson& json, std::string_view file_name) {
  ProfilerEvents events;
  std::optional<Reader> reader;
  json.read([&](ondemand::document& document) {
    events = {};
    reader.emplace(events, file_name).read(document);
  });
  if (reader->holds_traces()) {
    throw UsageError(
        fmt::format("{}: this is a list of traces; write each of them into a file of its own", file_name));
  }
  if (!reader->has_events())
    throw UsageError(fmt::format("{}: a profiler trace has a list 'traceEvents'", file_name));
  reader->join();
  return events;
}

}  // namespace jitterscope
