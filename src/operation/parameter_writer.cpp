#include "operation/parameter_writer.hpp"

namespace jitterscope {

void ParameterWriter::write(std::string_view name, std::int64_t value) {
  append(name, std::to_string(value));
}

void ParameterWriter::write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height,
                                        std::int64_t width) {
  if (height != width) {
    append(name, std::to_string(height) + "x" + std::to_string(width));
  } else {
    write_unless(usual, name, height);
  }
}

void ParameterWriter::write_both(std::string_view both, std::string_view first, std::int64_t first_value,
                                 std::string_view second, std::int64_t second_value) {
  if (first_value == second_value) {
    write(both, first_value);
  } else {
    write(first, first_value);
    write(second, second_value);
  }
}

void ParameterWriter::append(std::string_view name, std::string_view value) {
  text_ += empty_ ? ':' : ',';
  text_.append(name).append("=").append(value);
  empty_ = false;
}

}  // namespace jitterscope
