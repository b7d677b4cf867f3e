#include "import/library_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"

namespace jitterscope::library_log {
std::optional<Line> LineReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return Line{text, ++number_};
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  return text.substr(found + key.size());
}

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> real_number(std::string_view text) {
  text = trimmed(text);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> number_list(std::string_view text) {
  constexpr std::size_t kMostNumbers = 16;  // cuDNN's tensors have at most 8 dimensions
  text = trimmed(text);
  const std::size_t end = text.find(']');
  if (!consume(text, "[") || end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end - 1);
  std::vector<std::int64_t> numbers;
  while (!trimmed(text).empty()) {
    const std::string_view item = trimmed(until(text, ","));
    text.remove_prefix(std::min(text.size(), until(text, ",").size() + 1));
    if (item.empty() && numbers.empty()) continue;
    const std::optional<std::int64_t> number = whole_number(item);
    if (!number || numbers.size() == kMostNumbers) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::string quotable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return printable(trimmed(text), kLongest);
}

namespace {

bool equal_but_for_case(std::string_view text, std::string_view other) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return text.size() == other.size() && std::equal(text.begin(), text.end(), other.begin(),
                                                   [&](char a, char b) { return lower(a) == lower(b); });
}

std::optional<ApiField> field_in(std::string_view text) {
  if (!consume(text, "i!")) return std::nullopt;
  const std::size_t depth = text.find_first_not_of(' ');
  if (depth == std::string_view::npos) return std::nullopt;
  text.remove_prefix(depth);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ApiField{depth, text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

std::vector<ApiFields> ApiFields::all() const {
  std::vector<ApiFields> found;
  const std::size_t outer = first_->depth;
  // The direct children are the least indented fields that follow; deeper fields belong to the one before.
  const ApiField* field = first_ + 1;
  while (field != last_) {
    const ApiField* end =
        std::find_if(field + 1, last_, [&](const ApiField& next) { return next.depth <= field->depth; });
    if (field->depth > outer) found.emplace_back(field, end);
    field = end;
  }
  return found;
}

std::vector<ApiFields> ApiFields::find_all(std::string_view name) const {
  std::vector<ApiFields> found = all();
  std::erase_if(found, [&](const ApiFields& field) { return field.name() != name; });
  return found;
}

std::optional<ApiFields> ApiFields::find(std::string_view name) const {
  const std::vector<ApiFields> found = find_all(name);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::string_view ApiFields::type() const {
  const std::optional<std::string_view> type = after(first_->rest, "type=");
  return type ? trimmed(until(*type, ";:")) : std::string_view();
}

std::string_view ApiFields::value() const {
  const std::optional<std::string_view> found = after(first_->rest, "val=");
  if (!found) return {};
  std::string_view value = *found;
  if (consume(value, "\"")) return until(value, "\"");
  return trimmed(until(value, ";( "));
}

std::vector<std::int64_t> ApiFields::numbers() const {
  return number_list(value()).value_or(std::vector<std::int64_t>());
}

std::string ApiFields::word(std::string_view name, std::string_view prefix) const {
  const std::optional<ApiFields> found = find(name);
  std::string_view value = found ? found->value() : std::string_view();
  consume(value, prefix);
  return quotable(value);
}

std::string_view ApiRecord::process() const {
  const std::optional<std::string_view> process = after(foot, "Process=");
  return process ? until(*process, ";") : std::string_view();
}

std::string_view ApiRecord::thread() const {
  constexpr std::string_view kThread = "Thread=";
  const std::size_t begin = foot.find("Process="), thread = foot.find(kThread);
  if (thread == std::string_view::npos) return {};
  const std::size_t end = thread + kThread.size() + until(foot.substr(thread + kThread.size()), ";").size();
  return begin < thread ? foot.substr(begin, end - begin) : foot.substr(thread, end - thread);
}

// Reads a head, "I! CuDNN (v91900 56) function cudnnCreate() called:". cuBLAS writes the whole signature.
std::optional<ApiRecord> ApiRecordReader::head_in(const Line& line) const {
  std::string_view text = line.text;
  if (!consume(text, "I! ") || !equal_but_for_case(until(text, " "), library_)) return std::nullopt;
  const std::optional<std::string_view> version = after(text, " (v"), signature = after(text, ") function ");
  if (!version || !signature) return std::nullopt;
  const std::string_view named = trimmed(until(*signature, "("));
  const std::size_t space = named.rfind(' ');
  ApiRecord record;
  record.line = line.number;
  record.version = until(*version, " )");
  record.function = space == std::string_view::npos ? named : named.substr(space + 1);
  // The function is the first field: arguments() needs one in which all others are nested.
  record.fields.push_back({.depth = 0, .name = record.function, .rest = {}});
  return record;
}

std::optional<ApiRecord> ApiRecordReader::next() {
  std::optional<ApiRecord> record = std::exchange(begun_, std::nullopt);
  while (const std::optional<Line> line = lines_.next()) {
    if (std::optional<ApiRecord> head = head_in(*line)) {
      if (record) {
        begun_ = std::move(head);
        return record;
      }
      record = std::move(head);
      continue;
    }
    if (!record) continue;
    const std::string_view text = trimmed(line->text.substr(std::min<std::size_t>(2, line->text.size())));
    if (line->text.starts_with("i!") && text.starts_with("Process=")) {
      record->is_complete = true;
      record->foot = text;
      return record;
    }
    if (const std::optional<ApiField> field = field_in(line->text)) record->fields.push_back(*field);
  }
  return record;
}

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kDimensions = 4;

void check_form(const LoggedConvolution& convolution) {
  for (const LoggedTensor* tensor : {&convolution.x, &convolution.w, &convolution.y}) {
    const std::size_t count = tensor->dimensions.size();
    if (tensor == &convolution.y && count == 0) continue;
    if (count != kDimensions || tensor->strides.size() != kDimensions) {
      throw UsageError(fmt::format("its tensors have {} dimensions, and conv2d's have 4", count));
    }
    if (tensor->type != convolution.x.type) {
      throw UsageError(fmt::format("its tensors are of {} and {}, and conv2d's are of one type",
                                   convolution.x.type, tensor->type));
    }
  }
  for (const Numbers* pair :
       {&convolution.pad_before, &convolution.pad_after, &convolution.stride, &convolution.dilation}) {
    if (pair->size() != 2) throw UsageError("it has not two numbers for each of pad, stride and dilation");
  }
  if (convolution.pad_before != convolution.pad_after) {
    throw UsageError("it is padded unequally before and after, which conv2d is not");
  }
  if (convolution.mode != "CROSS_CORRELATION") {
    throw UsageError("it flips its filter (mode CONVOLUTION), which conv2d does not");
  }
  if (convolution.alpha != 1.0 || convolution.beta != 0.0) {
    throw UsageError("it scales its result or adds it to what was there, which conv2d does not");
  }
}

Conv2d shape_of(const LoggedConvolution& logged) {
  const Numbers &x = logged.x.dimensions, &w = logged.w.dimensions;
  if (w[1] < 1 || x[1] % w[1] != 0) {
    throw UsageError(
        fmt::format("its filter takes {} channels, which do not divide its input's {}", w[1], x[1]));
  }
  return {.n = x[0],
          .c = x[1],
          .h = x[2],
          .w = x[3],
          .k = w[0],
          .r = w[2],
          .s = w[3],
          .stride_h = logged.stride[0],
          .stride_w = logged.stride[1],
          .pad_h = logged.pad_before[0],
          .pad_w = logged.pad_before[1],
          .dilation_h = logged.dilation[0],
          .dilation_w = logged.dilation[1],
          .groups = x[1] / w[1],
          .dtype = DataType::f32,
          .layout = Layout::nchw,
          .direction = logged.direction,
          .engine = {}};
}

bool has_strides(const LoggedTensor& tensor, Layout layout, bool of_size_one_too) {
  const Numbers dense = dense_strides(tensor.dimensions, layout);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const bool counts = of_size_one_too || tensor.dimensions[i] != 1;
    if (counts && tensor.strides[i] != dense[i]) return false;
  }
  return true;
}

}  // namespace

Conv2d conv2d_of(const LoggedConvolution& logged, bool tf32) {
  check_form(logged);
  Conv2d conv = shape_of(logged);
  const std::optional<DataType> dtype = data_type_of(logged.x.type, tf32);
  if (!dtype) throw UsageError(fmt::format("its tensors are of {}, which conv2d is not", logged.x.type));
  conv.dtype = *dtype;
  const Operation checked(conv);  // checks the sizes before y is computed
  const Numbers y = {conv.n, conv.k, conv.out_h(), conv.out_w()};
  std::vector<const LoggedTensor*> tensors = {&logged.x, &logged.w};
  if (!logged.y.dimensions.empty()) {
    if (logged.y.dimensions != y) {
      throw UsageError(fmt::format("its y is {}, and that of conv2d {}", fmt::join(logged.y.dimensions, "x"),
                                   fmt::join(y, "x")));
    }
    tensors.push_back(&logged.y);
  }
  const std::optional<Layout> layout = layout_of(tensors);
  if (!layout) throw UsageError("the strides of its tensors are those of neither nchw nor nhwc");
  conv.layout = *layout;
  return conv;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dimensions, Layout layout) {
  const std::int64_t c = dimensions[1], h = dimensions[2], w = dimensions[3];
  const std::int64_t image = limited_product({c, h, w});
  if (layout == Layout::nchw) return {image, limited_product({h, w}), w, 1};
  return {image, 1, limited_product({w, c}), c};
}

std::optional<Layout> layout_of(const std::vector<const LoggedTensor*>& tensors) {
  for (const bool of_size_one_too : {true, false}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      const bool fits = std::all_of(tensors.begin(), tensors.end(), [&](const LoggedTensor* tensor) {
        return has_strides(*tensor, layout, of_size_one_too);
      });
      if (fits) return layout;
    }
  }
  return std::nullopt;
}

std::optional<DataType> data_type_of(std::string_view name, bool tf32) {
  if (name == "FLOAT") return tf32 ? DataType::tf32 : DataType::f32;
  if (name == "HALF") return DataType::f16;
  if (name == "BFLOAT16") return DataType::bf16;
  if (name == "DOUBLE") return DataType::f64;
  return std::nullopt;
}

const ConvolutionWords* find_convolution(std::string_view ConvolutionWords::*kind, std::string_view word) {
  const auto* const found = std::ranges::find(kConvolutionWords, word, kind);
  return found == std::end(kConvolutionWords) ? nullptr : found;
}

std::string precision_note(bool tf32) {
  if (tf32) {
    return "The log does not say whether convolutions of fp32 may use TF32. They are taken as tf32, because "
           "some of their engines run on tensor cores; PyTorch allows that by default "
           "(torch.backends.cudnn.allow_tf32).";
  }
  return "The log does not say whether convolutions of fp32 may use TF32. They are taken as f32, because "
         "none of their engines runs on tensor cores, as with torch.backends.cudnn.allow_tf32 = False or on "
         "a GPU without TF32.";
}

}  // namespace jitterscope::library_log
