// Whether what is compared does the same amount of work.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// "16.8 MFLOP and 33.6 MFLOP, 64 KiB and 128 KiB to move": in what two operations compute or move unlike
/// amounts; empty where they do not.
std::string unlike_work(const Operation& first, const Operation& second);
/// The same as a sentence that names both.
std::string unlike_work_sentence(const std::string& first_label, const Operation& first,
                                 const std::string& second_label, const Operation& second);

/// How many pairs of layers or operations there are, and those that do unlike work.
class UnlikeWork {
 public:
  void add(const std::string& name, const Operation& first, const Operation& second, std::int64_t count);
  /// A sentence with some of them; empty where all do the same.
  std::string sentence(const std::string& first_label, const std::string& second_label) const;

 private:
  std::int64_t all_ = 0, unlike_ = 0;
  std::vector<std::string> examples_;
};

/// Notes the pairs of the record that do unlike work; it has comparisons and no notes of these yet.
void note_unlike_layers(ComparisonRecord& record);

/// A note where a side is a kernel that a simulated GPU does not look into.
void note_only_moved(ComparisonRecord& record);

}  // namespace jitterscope
