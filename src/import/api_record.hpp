// The records that cuDNN and cuBLAS write of each call of their API: a head, a line for each argument,
// indented by its nesting, and a foot with the thread.
//
//   I! CuDNN (v91900 56) function cudnnBackendExecute() called:
//   i!     executionPlan: type=CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
//   i!         engine_id: type=int; val=38;
//   i! Process=456; Thread=456; GPU=0; Handle=0x3cacf9e0; StreamId=(nil) (defaultStream).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "import/log_lines.hpp"

namespace jitterscope::library_log {

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

}  // namespace jitterscope::library_log
