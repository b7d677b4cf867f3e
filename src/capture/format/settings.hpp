// Settings that the watching program gives the recorder in a process that it watches, by its environment.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace jitterscope::capture {

inline constexpr const char* kFolderVariable = "JITTERSCOPE_CAPTURE";  ///< the capture's folder, absolute
inline constexpr const char* kSettingsVariable = "JITTERSCOPE_CAPTURE_SETTINGS";

/// How much is recorded. Mixed: light, with a window of full now and then, from which idle time is explained,
/// and half a cycle later one of nothing, from which the cost of recording is known.
enum class DetailChoice : std::uint8_t { light, mixed, full };
/// How graphs are recorded: each node, or a launch as a whole.
enum class GraphChoice : std::uint8_t { node, whole };

struct Settings {
  DetailChoice detail = DetailChoice::mixed;
  GraphChoice graphs = GraphChoice::node;
  bool calls =
      false;  ///< of cuDNN, cuBLASLt and cuBLAS: in windows of full, or where detail is light, always
  std::uint64_t start_after_ms = 0;                         ///< from the process's first use of CUDA on
  std::uint64_t duration_ms = 0;                            ///< from the first recording on; 0: to the end
  std::uint64_t start_after_steps = 0, duration_steps = 0;  ///< the same in ranges named `ranges`
  std::uint64_t first_full_ms = 20'000, full_every_ms = 30'000, full_for_ms = 2'000,
                off_for_ms = 2'000;        ///< of mixed
  std::uint64_t ranges_apart_ms = 1'000;   ///< in pauses between ranges longer than this nothing is recorded
  std::uint64_t write_every_ms = 1'000;    ///< what a kill can lose
  std::uint64_t audit_after_ms = 1'000;    ///< names are audited then, and again where there are new ones
  std::uint64_t audit_for_ms = 10'000;     ///< at most; from the first launch on
  std::uint64_t finish_within_ms = 5'000;  ///< at the process's end, which waits no longer
  /// Only what happens while the program's own ranges (NVTX) of this name go on is recorded. Empty: all.
  std::string ranges{};

  bool operator==(const Settings&) const = default;
};

// Calls `setting(name, number)` for each but `ranges`.
template <class Function>
void describe(Settings& settings, Function&& setting) {
  const auto choice = [&](const char* name, auto& value) {
    std::uint64_t number = static_cast<std::uint64_t>(value);
    setting(name, number);
    value = static_cast<std::remove_reference_t<decltype(value)>>(number);
  };
  choice("detail", settings.detail);
  choice("graphs", settings.graphs);
  choice("calls", settings.calls);
  setting("start_after_ms", settings.start_after_ms);
  setting("duration_ms", settings.duration_ms);
  setting("start_after_steps", settings.start_after_steps);
  setting("duration_steps", settings.duration_steps);
  setting("first_full_ms", settings.first_full_ms);
  setting("full_every_ms", settings.full_every_ms);
  setting("full_for_ms", settings.full_for_ms);
  setting("off_for_ms", settings.off_for_ms);
  setting("ranges_apart_ms", settings.ranges_apart_ms);
  setting("write_every_ms", settings.write_every_ms);
  setting("audit_after_ms", settings.audit_after_ms);
  setting("audit_for_ms", settings.audit_for_ms);
  setting("finish_within_ms", settings.finish_within_ms);
}

inline constexpr std::string_view kRangesSetting = ",ranges=";

/// "detail=1,graphs=0,…,ranges=any text, to the end"
inline std::string to_text(Settings settings) {
  std::string text;
  describe(settings, [&](const char* name, std::uint64_t number) {
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(number);
  });
  return settings.ranges.empty() ? text : text.append(kRangesSetting) + settings.ranges;
}

/// Reads what to_text wrote. A setting that the text lacks keeps its default; one that is not known is passed
/// over.
inline Settings parse_settings(std::string_view text) {
  Settings settings;
  if (const std::size_t ranges = text.find(kRangesSetting); ranges != std::string_view::npos) {
    settings.ranges = text.substr(ranges + kRangesSetting.size());
    text = text.substr(0, ranges);
  }
  describe(settings, [&](const char* name, std::uint64_t& number) {
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      const std::size_t equals = item.find('=');
      if (item.substr(0, equals) != name || equals == std::string_view::npos) continue;
      std::from_chars(item.data() + equals + 1, item.data() + item.size(), number);
    }
  });
  return settings;
}

}  // namespace jitterscope::capture
