#include "operation/parameter_writer.hpp"

namespace jitterscope {

void ParameterWriter::write_subject(std::string_view subject) {
  text_ += ':';
  text_ += subject;
  empty_ = false;
}

void ParameterWriter::write(std::string_view name, std::int64_t value) {
  append(name, std::to_string(value));
}

void ParameterWriter::write_pair(std::string_view name, std::int64_t height, std::int64_t width) {
  std::string pair = std::to_string(height);
  if (width != height) pair += "x" + std::to_string(width);
  append(name, pair);
}

void ParameterWriter::write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height,
                                        std::int64_t width) {
  if (height != usual || width != usual) write_pair(name, height, width);
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
