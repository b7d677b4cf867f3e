#include "import/profiler_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "import/trace_json.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace ondemand = simdjson::ondemand;

enum class Category { other, called_operator, launch, gpu_work, annotation };

// Older PyTorch (before 1.12) wrote other words.
Category category_of(std::string_view text) {
  constexpr std::pair<std::string_view, Category> kCategories[] = {
      {"cpu_op", Category::called_operator}, {"Operator", Category::called_operator},
      {"cuda_runtime", Category::launch},    {"cuda_driver", Category::launch},
      {"Runtime", Category::launch},         {"kernel", Category::gpu_work},
      {"Kernel", Category::gpu_work},        {"gpu_memcpy", Category::gpu_work},
      {"Memcpy", Category::gpu_work},        {"gpu_memset", Category::gpu_work},
      {"Memset", Category::gpu_work},        {"user_annotation", Category::annotation}};
  for (const auto& [word, category] : kCategories) {
    if (word == text) return category;
  }
  return Category::other;
}

// Microseconds with decimals, exactly: 1716900000123456.789 has more digits than a double.
std::optional<RecordTime> parse_time(std::string_view token) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 52;  // µs: 142 years
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r')) {
    token.remove_suffix(1);
  }
  std::int64_t whole = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, whole);
  if (error != std::errc() || whole < 0 || whole > kLargest) return std::nullopt;
  RecordTime result = whole * 1000;
  if (stop == end) return result;
  if (*stop != '.') return std::nullopt;
  std::int64_t unit = 100;
  for (const char* digit = stop + 1; digit < end && *digit >= '0' && *digit <= '9'; ++digit) {
    result += (*digit - '0') * unit;
    unit /= 10;
  }
  return result;
}

struct Event {
  Category category = Category::other;
  bool complete = false;  ///< "ph": "X", with a begin and a duration
  std::string_view name, arguments, process, thread;
  std::optional<RecordTime> begin, duration;
};

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
  /// Each process numbers its launches by itself, and a kernel names its launch by that number alone.
  bool mixes_processes() const { return mixes_processes_; }

 private:
  struct Launch {
    std::uint32_t thread = 0;
    RecordTime begin = 0;
    std::uint32_t process = 0;
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
      if (event.get_object().get(object) == simdjson::SUCCESS) add(read_event(object));
    }
  }

  static Event read_event(ondemand::object& object) {
    Event event;
    for (ondemand::field field : object) {
      const ondemand::raw_json_string key = field.key();
      ondemand::value value = field.value();
      std::string_view text;
      if (key == "ph") {
        event.complete = value.get_string().get(text) == simdjson::SUCCESS && text == "X";
      } else if (key == "cat") {
        if (value.get_string().get(text) == simdjson::SUCCESS) event.category = category_of(text);
      } else if (key == "name") {
        if (value.get_string().get(text) == simdjson::SUCCESS) event.name = text;
      } else if (key == "pid") {
        event.process = value.raw_json_token();
      } else if (key == "tid") {
        event.thread = value.raw_json_token();
      } else if (key == "ts") {
        event.begin = parse_time(value.raw_json_token());
      } else if (key == "dur") {
        event.duration = parse_time(value.raw_json_token());
      } else if (key == "args") {
        ondemand::object arguments;
        if (value.get_object().get(arguments) == simdjson::SUCCESS) event.arguments = arguments.raw_json();
      }
    }
    return event;
  }

  void add(const Event& event) {
    if (!event.complete || !event.begin) return;
    const RecordTime begin = *event.begin, duration = event.duration.value_or(0);
    switch (event.category) {
      case Category::called_operator:
        events_.operators.push_back({event.name, event.arguments, thread_of(event), begin, begin + duration});
        break;
      case Category::launch:
        if (const std::int64_t number = correlation_of(event); number >= 0) {
          const auto [known, is_new] =
              launches_.try_emplace(number, Launch{thread_of(event), begin, process_of(event)});
          mixes_processes_ |= !is_new && known->second.process != process_of(event);
        }
        break;
      case Category::gpu_work:
        events_.work.push_back({event.name, Nanoseconds(static_cast<double>(duration)), begin,
                                correlation_of(event), kNoParent, begin});
        break;
      case Category::annotation:
        if (event.name.starts_with("ProfilerStep#")) ++events_.steps;
        break;
      case Category::other: break;
    }
  }

  std::uint32_t thread_of(const Event& event) {
    key_.assign(event.process).append("/").append(event.thread);
    return threads_.try_emplace(key_, static_cast<std::uint32_t>(threads_.size())).first->second;
  }

  std::uint32_t process_of(const Event& event) {
    key_.assign(event.process);
    return processes_.try_emplace(key_, static_cast<std::uint32_t>(processes_.size())).first->second;
  }

  std::int64_t correlation_of(const Event& event) {
    std::int64_t number = -1;
    if (event.arguments.empty()) return number;
    simdjson::dom::element arguments;
    constexpr bool kCopy = false;
    if (parser_.parse(event.arguments.data(), event.arguments.size(), kCopy).get(arguments) ==
        simdjson::SUCCESS) {
      if (arguments["correlation"].get(number) != simdjson::SUCCESS) number = -1;
    }
    return number;
  }

  // An operator that begins when its caller does is the shorter one, or the later one in the file.
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
      if (operators[i].thread == operators[i - 1].thread) {
        events_.parents[i] = innermost(i - 1, operators[i].end);
      }
    }
  }

  // The operator at or above a place that is still running at this time.
  std::size_t innermost(std::size_t place, RecordTime time) const {
    while (place != kNoParent && events_.operators[place].end < time) place = events_.parents[place];
    return place;
  }

  void find_callers() {
    const auto before = [](const Launch& launch, const CalledOperator& called) {
      return std::pair(launch.thread, launch.begin) < std::pair(called.thread, called.begin);
    };
    const std::vector<CalledOperator>& operators = events_.operators;
    for (GpuWork& work : events_.work) {
      const auto launch = launches_.find(work.correlation);
      if (launch == launches_.end()) continue;
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
  bool has_events_ = false;
  simdjson::dom::parser parser_;
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> threads_, processes_;
  bool mixes_processes_ = false;
  std::unordered_map<std::int64_t, Launch> launches_;
};

}  // namespace

ProfilerEvents read_profiler_events(ondemand::parser& parser, const simdjson::padded_string& text,
                                    std::string_view file_name) {
  ProfilerEvents events;
  Reader reader(events, file_name);
  ondemand::document document;
  try {
    document = parser.iterate(text).value();
    reader.read(document);
  } catch (const simdjson::simdjson_error& error) {
    fail_json(text, file_name, error, document);
  }
  if (!reader.has_events()) {
    throw UsageError(fmt::format("{}: a profiler trace has a list 'traceEvents'", file_name));
  }
  if (reader.mixes_processes()) {
    throw UsageError(
        fmt::format("{}: launches of several processes have the same numbers, so that it cannot be told "
                    "whose a kernel is; give the trace of one process, as torch.profiler wrote it",
                    file_name));
  }
  reader.join();
  return events;
}

}  // namespace jitterscope
