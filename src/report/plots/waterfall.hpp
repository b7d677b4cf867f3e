// From one level of a time to another, part by part: each begins where the one above it ended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/measurement.hpp"
#include "report/drawing.hpp"

namespace jitterscope::report {

/// A waterfall whose levels are times, and whose parts multiply.
class Waterfall {
 public:
  /// `unit` fits the largest level.
  explicit Waterfall(TimeUnit unit) : unit_(std::move(unit)) {}

  /// Ends where it says, with its own interval.
  void add_level(const std::string& name, const TimeEstimate& time);
  /// Multiplies what was reached; `source`: what was switched, or how it is known.
  void add_part(const std::string& name, const RatioEstimate& ratio, const std::string& source);
  /// What leads from where the parts ended to the level that follows; `ratio` has its interval.
  void add_rest(const RatioEstimate& ratio, Nanoseconds level);

  Nanoseconds reached() const { return reached_; }
  /// A view as wide as a page.
  Json view() const;
  /// `sources`: the heading of that column.
  std::vector<TableColumn> table(std::string_view sources) const;

 private:
  struct Row {
    std::string name;
    Nanoseconds begin, end, low, high;  ///< low and high: the interval of the end
    std::string_view kind;
    std::string shown, brief, source;  ///< with its interval; without
  };

  void add_step(const std::string& name, const RatioEstimate& ratio, Nanoseconds end, std::string_view kind,
                const std::string& source);

  TimeUnit unit_;
  std::vector<Row> rows_;
  Nanoseconds reached_;
};

}  // namespace jitterscope::report
