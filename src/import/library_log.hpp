// A log's lines, and the numbers and words in them. All views point into the log's text.
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
  std::string_view text;    ///< without its end
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

/// Removes `prefix` from the front of text; false, and text unchanged, where it does not start so.
bool consume(std::string_view& text, std::string_view prefix);
/// What follows the first `key` in text.
std::optional<std::string_view> after(std::string_view text, std::string_view key);
/// text up to the first of `ends`, or all of it.
std::string_view until(std::string_view text, std::string_view ends);

/// All of text, trimmed, as a number.
std::optional<std::int64_t> whole_number(std::string_view text);
std::optional<double> real_number(std::string_view text);
/// "[ 8,64,56,56 ]" at the front of text; cudnn-frontend writes some lists as "[,1,1 ]".
std::optional<std::vector<std::int64_t>> number_list(std::string_view text);

/// Whether text can be an engine: letters, digits, '_', '=' and '-', at most 200 of them.
bool is_engine(std::string_view text);
/// Text of a log for a sentence: without control characters, and cut where it is long.
std::string quotable(std::string_view text);

// The records that cuDNN and cuBLAS write of each call of their API: a head, a line for each argument,
// indented by its nesting, and a foot with the thread.
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

/// A field and those that are nested in it.
class ApiFields {
 public:
  ApiFields(const ApiField* first, const ApiField* last) : first_(first), last_(last) {}

  /// The first field of that name directly in this one, with all that is nested in it.
  std::optional<ApiFields> find(std::string_view name) const;
  /// All fields of that name directly in this one.
  std::vector<ApiFields> find_all(std::string_view name) const;
  /// All fields directly in this one.
  std::vector<ApiFields> all() const;

  std::string_view name() const { return first_->name; }
  /// What follows "type=", without details: CUDNN_BACKEND_TENSOR_DESCRIPTOR.
  std::string_view type() const;
  /// What follows "val=": "CUDNN_DATA_FLOAT (0)" is CUDNN_DATA_FLOAT; the quotes of text are removed.
  std::string_view value() const;
  std::optional<std::int64_t> number() const { return whole_number(value()); }
  /// Of `val=[8,64,56,56]`; empty where it is no list.
  std::vector<std::int64_t> numbers() const;

 private:
  const ApiField* first_;  // this field itself
  const ApiField* last_;   // past what is nested in it
};

struct ApiRecord {
  std::int64_t line = 0;
  std::string_view version;   ///< 91900 of "v91900 56", 13.1.0
  std::string_view function;  ///< cudnnBackendExecute
  std::string_view foot;      ///< "Process=456; Thread=456; …"
  bool is_complete = false;   ///< has its foot
  std::vector<ApiField> fields;

  /// The arguments. The record must have one field at least.
  ApiFields arguments() const { return {fields.data(), fields.data() + fields.size()}; }
  std::string_view process() const;
  /// With its process, as several may write into one log.
  std::string_view thread() const;
};

class ApiRecordReader {
 public:
  /// `library`: how the head names it, CuDNN or cuBLAS, whatever the case of its letters.
  ApiRecordReader(std::string_view text, std::string_view library) : lines_(text), library_(library) {}
  /// The fields of messages that are no calls (warnings, errors) are left out.
  std::optional<ApiRecord> next();

 private:
  std::optional<ApiRecord> head_in(const Line& line) const;

  LineReader lines_;
  std::string_view library_;
  std::optional<ApiRecord> begun_;  // its head ended the record before
};

// Convolutions as cuDNN's descriptors give them.

struct LoggedTensor {
  std::vector<std::int64_t> dimensions, strides;  ///< in the order n, c, h, w whatever the layout
  std::string type;                               ///< FLOAT, HALF, BFLOAT16, DOUBLE…
};

struct LoggedConvolution {
  Direction direction = Direction::fprop;
  LoggedTensor x = {}, y = {}, w = {};  ///< y may lack its shape, which follows from the others
  std::vector<std::int64_t> pad_before = {}, pad_after = {}, stride = {}, dilation = {};
  std::string mode = {};  ///< CROSS_CORRELATION or CONVOLUTION
  double alpha = 1.0, beta = 0.0;
};

/// With `tf32`, products of fp32 are taken as rounded to TF32. Throws UsageError that says why conv2d cannot
/// be it.
Conv2d conv2d_of(const LoggedConvolution& convolution, bool tf32);

/// The strides of a dense tensor.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dimensions, Layout layout);
/// By the strides of all tensors. Those of dimensions of size one tell the layouts apart where nothing else
/// does, and are what PyTorch's own rule goes by; nothing where no layout has these strides.
std::optional<Layout> layout_of(const std::vector<const LoggedTensor*>& tensors);
/// By cuDNN's name without CUDNN_DATA_.
std::optional<DataType> data_type_of(std::string_view name, bool tf32);

/// "ConvFwd", "ConvBwdData" or "ConvBwdFilter": how cuDNN's plans are tagged.
std::string_view plan_prefix(Direction direction);

/// Why fp32 convolutions are taken as tf32, or not.
std::string precision_note(bool tf32);

}  // namespace jitterscope::library_log
