#include "import/import.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "base/files.hpp"
#include "import/json.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

namespace {

Model import_text(std::string_view text, const std::string& name, const ModelOptions& options,
                  bool ends_early = false) {
  switch (recognise(text)) {
    case FileKind::model: return read_model(text, name);
    case FileKind::execution_trace: return import_execution_trace(text, name);
    case FileKind::profiler_trace: return import_profiler_trace(text, name, ends_early);
    case FileKind::cudnn_frontend_log: return import_cudnn_frontend_log(text, name);
    case FileKind::cublaslt_log: return import_cublaslt_log(text, name);
    case FileKind::cudnn_log: return import_cudnn_log(text, name);
    case FileKind::cublas_log: return import_cublas_log(text, name);
    case FileKind::onnx: return import_onnx(text, name, options);
    case FileKind::own:
    case FileKind::page: throw UsageError(misplaced_file(text, name, "not a network, trace or log"));
    case FileKind::unknown: break;
  }
  throw UsageError(fmt::format("{}: this file is not of a known kind; {}", name, recognised_kinds()));
}

void mark_incomplete(Model& model, const char* note) {
  model.notes.insert(model.notes.begin(), note);
  model.is_incomplete = true;
}

/// Imports a text. If its program was stopped while it wrote, imports the whole elements before the end.
Model import_beginning(std::string_view text, const std::string& name, const ModelOptions& options) {
  try {
    return import_text(text, name, options);
  } catch (const EarlyEnd& end) {
    if (end.closed.empty()) throw;
    constexpr bool kEndsEarly = true;
    Model model = import_text(end.closed, name, options, kEndsEarly);
    mark_incomplete(
        model,
        "The file ends early, in the middle of its JSON: only the part before is used, so counts are too "
        "small.");
    return model;
  }
}

}  // namespace

Model import_file(const std::filesystem::path& file, const ModelOptions& options) {
  const FileContents contents = read_file(file);
  if (!contents.ends_early) return import_beginning(contents.text, file.string(), options);
  try {
    Model model = import_beginning(contents.text, file.string(), options);
    mark_incomplete(model, "The gzip file ends early; was it copied in full?");
    return model;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}; the gzip file ends early: was it copied in full?", error.what()));
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGzip = "\x1f\x8b";

[[noreturn]] void fail(std::string_view file, std::string_view problem) {
  throw UsageError(fmt::format("{}: {}", file, problem));
}

std::string read_bytes(const fs::path& file) {
  require_readable(file);
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file.string(), fmt::format("this file cannot be read: {}", std::strerror(errno)));
  std::string bytes;
  std::error_code error;
  // A pipe's size is not known beforehand.
  if (const std::uintmax_t size = fs::file_size(file, error); !error && size > 0) {
    if (size > kLargestFile) fail(file.string(), "it is larger than 2 GB");
    bytes.resize(size);
    stream.read(bytes.data(), static_cast<std::streamsize>(size));
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
  }
  constexpr std::size_t kStep = 1 << 20;
  while (stream && stream.peek() != std::ifstream::traits_type::eof()) {
    if (bytes.size() > kLargestFile) fail(file.string(), "it is larger than 2 GB");
    const std::size_t before = bytes.size();
    bytes.resize(before + kStep);
    stream.read(bytes.data() + before, kStep);
    bytes.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) fail(file.string(), "this file cannot be read");
  if (bytes.empty()) fail(file.string(), "this file is empty; was it written, or copied, in full?");
  return bytes;
}

class Inflater {
 public:
  Inflater(std::string_view bytes, std::string_view file_name, std::uint64_t limit)
      : file_name_(file_name), limit_(limit), input_(bytes) {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) fail(file_name_, "zlib cannot be used");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  FileContents unpack() {
    // The result grows in steps, because the unpacked size that a gzip file notes may be wrong.
    FileContents result;
    while (true) {
      const int status = step(result.text);
      if (status == Z_STREAM_END) {
        if (!begin_next_member()) return result;
      } else if (status == Z_BUF_ERROR || (status == Z_OK && is_exhausted())) {
        result.ends_early = true;
        return result;
      } else if (status != Z_OK) {
        fail(file_name_, fmt::format("the gzip file is damaged{}{}", stream_.msg ? ": " : "",
                                     stream_.msg ? stream_.msg : ""));
      }
    }
  }

 private:
  bool is_exhausted() const { return stream_.avail_in == 0 && input_.empty() && stream_.avail_out > 0; }

  void refill() {
    constexpr std::size_t kMost = 1u << 30;  // zlib counts in 32 bits
    if (stream_.avail_in != 0 || input_.empty()) return;
    const std::size_t size = std::min(input_.size(), kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
    stream_.avail_in = static_cast<uInt>(size);
    input_.remove_prefix(size);
  }

  int step(std::string& result) {
    refill();
    const std::size_t before = result.size();
    const std::size_t room = std::clamp<std::size_t>(before / 2, 1u << 16, 1u << 26);
    result.resize(before + room);
    stream_.next_out = reinterpret_cast<Bytef*>(result.data() + before);
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    result.resize(before + room - stream_.avail_out);
    if (result.size() > limit_) {
      fail(file_name_, fmt::format("it is larger than {} MB when unpacked", limit_ / 1'000'000));
    }
    return status;
  }

  // A gzip file may consist of several members, one after another.
  bool begin_next_member() {
    refill();
    const bool more = stream_.avail_in >= 2 && stream_.next_in[0] == 0x1f && stream_.next_in[1] == 0x8b;
    return more && inflateReset(&stream_) == Z_OK;
  }

  std::string file_name_;
  std::uint64_t limit_;
  std::string_view input_;
  z_stream stream_ = {};
};

}  // namespace

FileContents unpack_gzip(std::string_view bytes, std::string_view file_name, std::uint64_t limit) {
  return Inflater(bytes, file_name, limit).unpack();
}

FileContents read_file(const fs::path& file) {
  std::string bytes = read_bytes(file);
  if (!bytes.starts_with(kGzip)) return {.text = std::move(bytes)};
  FileContents unpacked = unpack_gzip(bytes, file.string());
  if (unpacked.text.empty()) {
    fail(file.string(), unpacked.ends_early
                            ? "the gzip file ends before anything can be read; was it copied in full?"
                            : "this file is empty when unpacked");
  }
  return unpacked;
}

}  // namespace jitterscope
