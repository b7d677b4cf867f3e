// The keys of one preset file, each asked for once by its name and the range of its number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/error.hpp"
#include "physics/toml.hpp"

namespace jitterscope::physics {

/// What a number may be.
struct Range {
  double lowest, highest;
  std::string_view words;
};
// No GPU comes near 1e12 of any unit used; beyond it a simulation would count in rounding errors.
constexpr Range kPositive{1e-9, 1e12, "a positive number"};
constexpr Range kNotNegative{0, 1e12, "a number of at least 0"};
constexpr Range kAny{-1e12, 1e12, "a number"};
constexpr Range kShare{0, 1, "a share between 0 and 1"};
constexpr Range kProperShare{0, 0.99, "a share between 0 and 0.99"};

/// Sets what the file says and leaves the rest; where the file must be complete, a missing key is an error.
/// Every error is a UsageError with file, line, key and what was expected.
class PresetReader {
 public:
  PresetReader(const toml::table& document, std::string file, bool complete);

  void start_table(std::string_view name);
  void number(std::string_view key, double& value, const Range& range, double unit = 1.0);
  template <class Quantity>
  void quantity(std::string_view key, Quantity& value, const Range& range, double unit = 1.0) {
    double number_of = static_cast<double>(value.value()) / unit;
    number(key, number_of, range);
    value = Quantity(static_cast<decltype(value.value())>(number_of * unit));
  }
  void integer(std::string_view key, std::int64_t& value, std::int64_t lowest, std::int64_t highest);
  void flag(std::string_view key, bool& value);
  void text(std::string_view key, std::string& value);
  void texts(std::string_view key, std::vector<std::string>& values);
  /// All keys have been asked for: what else the file says is unknown.
  void finish();

  [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

 private:
  const toml::node* find(std::string_view key, std::string_view expected);
  [[noreturn]] void fail_at(const toml::source_region& where, const std::string& problem) const;
  void check_keys();

  const toml::table& document_;
  std::string file_;
  bool complete_;
  std::string table_name_;
  const toml::table* table_ = nullptr;
  std::vector<std::string> known_tables_, known_keys_;
};

}  // namespace jitterscope::physics
