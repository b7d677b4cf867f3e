// Writes the normal form of an operation's text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operation/words.hpp"

namespace jitterscope {

class ParameterWriter {
 public:
  explicit ParameterWriter(std::string_view kind) : text_(kind) {}

  /// What stands before all parameters.
  void write_subject(std::string_view subject);
  void write(std::string_view name, std::int64_t value);
  void write(std::string_view name, const std::string& value) { append(name, value); }
  template <class Value>
  void write(std::string_view name, Value value) {
    append(name, printed_word(value));
  }
  /// Leaves the parameter out where it has its default, to keep the line short.
  template <class Value>
  void write_unless(Value usual, std::string_view name, Value value) {
    if (value != usual) write(name, value);
  }
  /// Left out where the field is empty: as PyTorch chooses.
  void write_engine(const std::string& engine) {
    if (!engine.empty()) append("engine", engine);
  }
  /// `2` or `2x1`.
  void write_pair(std::string_view name, std::int64_t height, std::int64_t width);
  /// Left out where both sides have the default.
  void write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height, std::int64_t width);
  /// `hw=56`, or `h=56,w=28`.
  void write_both(std::string_view both, std::string_view first, std::int64_t first_value,
                  std::string_view second, std::int64_t second_value);

  const std::string& text() const { return text_; }

 private:
  void append(std::string_view name, std::string_view value);

  std::string text_;
  bool empty_ = true;
};

}  // namespace jitterscope
