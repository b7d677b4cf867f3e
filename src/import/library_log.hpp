// Reads the logs of NVIDIA's libraries: lines, numbers, API records. All views point into the log's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "operation/words.hpp"

namespace jitterscope::library_log {

struct Line {
  std::string_view text;    ///< without the line break
  std::int64_t number = 0;  ///< from 1
};

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  std::optional<Line> next();

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

/// Removes `prefix` from the front of text. If text does not start so, returns false and leaves it unchanged.
bool consume(std::string_view& text, std::string_view prefix);
/// Returns the text behind the first `key`.
std::optional<std::string_view> after(std::string_view text, std::string_view key);
/// Returns text up to the first of the characters `ends`, or all of it.
std::string_view until(std::string_view text, std::string_view ends);

/// Reads all of text, trimmed, as a number.
std::optional<std::int64_t> whole_number(std::string_view text);
std::optional<double> real_number(std::string_view text);
/// Reads "[ 8,64,56,56 ]" at the front of text; cudnn-frontend writes some lists as "[,1,1 ]".
std::optional<std::vector<std::int64_t>> number_list(std::string_view text);

/// Returns a log's text for use in a sentence: without control characters, and cut if it is long.
std::string quotable(std::string_view text);

// cuDNN and cuBLAS write a record of each call of their API: a head, a line for each argument, indented by
// its nesting, and a foot with the thread.
//
//   I! CuDNN (v91900 56) function cudnnBackendExecute() called:
//   i!     executionPlan: type=CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
//   i!         engine_id: type=int; val=38;
//   i! Process=456; Thread=456; GPU=0; Handle=0x3cacf9e0; StreamId=(nil) (defaultStream).

struct ApiField {
  std::size_t depth = 0;  ///< columns of indentation
  std::string_view name;  ///< xDesc
  std::string_view rest;  ///< " type=int; val=[8,64,56,56];"
};

/// A field with its nested fields.
class ApiFields {
 public:
  ApiFields(const ApiField* first, const ApiField* last) : first_(first), last_(last) {}

  /// Returns the first direct child of that name, with all that is nested in it.
  std::optional<ApiFields> find(std::string_view name) const;
  /// Returns all direct children of that name.
  std::vector<ApiFields> find_all(std::string_view name) const;
  /// Returns all direct children.
  std::vector<ApiFields> all() const;

  std::string_view name() const { return first_->name; }
  /// Returns the type behind "type=", without details: CUDNN_BACKEND_TENSOR_DESCRIPTOR.
  std::string_view type() const;
  /// Returns the value behind "val=": CUDNN_DATA_FLOAT for "CUDNN_DATA_FLOAT (0)", text without its quotes.
  std::string_view value() const;
  std::optional<std::int64_t> number() const { return whole_number(value()); }
  /// Returns the numbers of `val=[8,64,56,56]`; empty if the value is no list.
  std::vector<std::int64_t> numbers() const;
  /// Returns the value of a child without this prefix, for use in a sentence; empty if there is no such
  /// child.
  std::string word(std::string_view name, std::string_view prefix = {}) const;

 private:
  const ApiField* first_;  // the field itself
  const ApiField* last_;   // past its last nested field
};

struct ApiRecord {
  std::int64_t line = 0;
  std::string_view version;   ///< 91900 of "v91900 56", 13.1.0
  std::string_view function;  ///< cudnnBackendExecute
  std::string_view foot;      ///< "Process=456; Thread=456; …"
  bool is_complete = false;   ///< the log has its foot
  std::vector<ApiField> fields;

  /// Returns the call's arguments. The record must have at least one field.
  ApiFields arguments() const { return {fields.data(), fields.data() + fields.size()}; }
  std::string_view process() const;
  /// Returns the thread with its process, because several processes may write into one log.
  std::string_view thread() const;
};

class ApiRecordReader {
 public:
  /// `library` is the name in the head, CuDNN or cuBLAS, in upper or lower case.
  ApiRecordReader(std::string_view text, std::string_view library) : lines_(text), library_(library) {}
  /// Returns the next call. Messages that are no calls (warnings, errors) are left out.
  std::optional<ApiRecord> next();

 private:
  std::optional<ApiRecord> head_in(const Line& line) const;

  LineReader lines_;
  std::string_view library_;
  std::optional<ApiRecord> begun_;  // the head that ended a record without a foot
};

// Convolutions as cuDNN's descriptors describe them.

struct LoggedTensor {
  std::vector<std::int64_t> dimensions, strides;  ///< in the order n, c, h, w in any layout
  std::string type;                               ///< FLOAT, HALF, BFLOAT16, DOUBLE…
};

struct LoggedConvolution {
  Direction direction = Direction::fprop;
  LoggedTensor x = {}, y = {}, w = {};  ///< y may lack its shape: it follows from x and w
  std::vector<std::int64_t> pad_before = {}, pad_after = {}, stride = {}, dilation = {};
  std::string mode = {};  ///< CROSS_CORRELATION or CONVOLUTION
  double alpha = 1.0, beta = 0.0;
};

/// Returns the convolution; with `tf32`, fp32 inputs are rounded to TF32. Throws UsageError that says why
/// conv2d cannot represent it.
Conv2d conv2d_of(const LoggedConvolution& convolution, bool tf32);

/// Returns the strides of a dense tensor of four dimensions, limited to 2^50.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dimensions, Layout layout);
/// Returns the layout whose strides all tensors have; nullopt if there is none. If nothing else tells the
/// layouts apart, the strides of dimensions of size one do: PyTorch's own rule goes by them.
std::optional<Layout> layout_of(const std::vector<const LoggedTensor*>& tensors);
/// Returns the type for cuDNN's name without CUDNN_DATA_; nullopt if unknown.
std::optional<DataType> data_type_of(std::string_view name, bool tf32);

/// The words for a convolution in one direction.
struct ConvolutionWords {
  Direction direction;
  std::string_view node;       ///< in cudnn-frontend's graphs
  std::string_view operation;  ///< in cuDNN's graphs
  std::string_view function;   ///< of the older API
  std::string_view x, y, w;    ///< prefixes of its tensors' names
};
inline constexpr ConvolutionWords kConvolutionWords[] = {
    {Direction::fprop, "CONV_FPROP", "CONVOLUTION_FORWARD", "cudnnConvolutionForward", "x", "y", "w"},
    {Direction::dgrad, "CONV_DGRAD", "CONVOLUTION_BACKWARD_DATA", "cudnnConvolutionBackwardData", "dx", "dy",
     "w"},
    {Direction::wgrad, "CONV_WGRAD", "CONVOLUTION_BACKWARD_FILTER", "cudnnConvolutionBackwardFilter", "x",
     "dy", "dw"}};
/// Returns the words of the convolution that one of them names; null if none does.
const ConvolutionWords* find_convolution(std::string_view ConvolutionWords::*kind, std::string_view word);

/// Returns the sentence on why fp32 convolutions are taken as tf32, or not.
std::string precision_note(bool tf32);

// Calls as the recorder of captures says them (src/recorder), by the same words.

/// Returns the convolution of an execution of cuDNN with its engine: "CONVOLUTION_FORWARD mode=… x_dims=[…]
/// …". Throws UsageError that says why conv2d cannot represent it.
Operation convolution_of_words(std::string_view words, std::string_view engine);
/// Returns the product of a call of cuBLASLt or cuBLAS, in the words of cuBLASLt's log. Throws UsageError
/// that says why neither matmul nor linear can represent it.
Operation product_of_words(std::string_view words, std::string_view engine);

}  // namespace jitterscope::library_log
