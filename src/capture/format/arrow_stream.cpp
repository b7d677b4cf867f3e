#include "capture/format/arrow_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>

#include "arrow_generated.h"

namespace jitterscope::capture {
namespace {

namespace fb = flatbuffers;

// A message is this word, the length of its metadata, the metadata and the body; a length of 0 ends the
// stream.
constexpr std::uint32_t kContinuation = 0xFFFFFFFF;
constexpr std::size_t kAlignment = 8;
// More than any writer of ours puts into one batch, and little enough to be held in memory.
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::size_t kMostMetadata = std::size_t{1} << 24;
constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;
// zstd makes no less than 4 bytes of 128 KiB, so that a short body cannot stand for gigabytes.
constexpr std::size_t kMostTimesLonger = std::size_t{1} << 15;
constexpr const char* kHashKey = "xxh3";

struct TypeOfColumn {
  ColumnType type;
  std::size_t width;
  bool is_signed;
};
constexpr std::array<TypeOfColumn, 4> kIntegers = {{{ColumnType::u8, 1, false},
                                                    {ColumnType::u32, 4, false},
                                                    {ColumnType::u64, 8, false},
                                                    {ColumnType::i64, 8, true}}};

std::size_t width_of(ColumnType type) {
  for (const TypeOfColumn& integer : kIntegers) {
    if (integer.type == type) return integer.width;
  }
  return type == ColumnType::f64 ? sizeof(double) : sizeof(std::int32_t);  // of a text: its offset
}

std::size_t padded(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

std::string hash_text(const void* bytes, std::size_t size, std::uint64_t seed = 0) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_withSeed(bytes, size, seed)));
  return text.data();
}

// The hash of all that makes a batch's values: its body, and where in it the columns lie.
std::string hash_of_batch(std::int64_t rows, const void* buffers, std::size_t bytes_of_buffers,
                          const char* body, std::size_t size) {
  return hash_text(body, size,
                   XXH3_64bits_withSeed(buffers, bytes_of_buffers, static_cast<std::uint64_t>(rows)));
}

std::string framed(const fb::FlatBufferBuilder& builder) {
  const std::size_t size = padded(builder.GetSize());
  const std::int32_t length = static_cast<std::int32_t>(size);
  std::string message(sizeof kContinuation + sizeof length + size, '\0');
  std::memcpy(message.data(), &kContinuation, sizeof kContinuation);
  std::memcpy(message.data() + sizeof kContinuation, &length, sizeof length);
  std::memcpy(message.data() + sizeof kContinuation + sizeof length, builder.GetBufferPointer(),
              builder.GetSize());
  return message;
}

fb::Offset<arrow::Field> field_of(fb::FlatBufferBuilder& builder, const ColumnView& column) {
  arrow::Type kind = arrow::Type_Int;
  fb::Offset<void> type;
  if (column.type == ColumnType::text) {
    kind = arrow::Type_Utf8;
    type = arrow::CreateUtf8(builder).Union();
  } else if (column.type == ColumnType::f64) {
    kind = arrow::Type_FloatingPoint;
    type = arrow::CreateFloatingPoint(builder, arrow::Precision_double_).Union();
  } else {
    type =
        arrow::CreateInt(builder, static_cast<int>(8 * width_of(column.type)), column.type == ColumnType::i64)
            .Union();
  }
  const auto name = builder.CreateString(column.name);
  const auto children = builder.CreateVector(std::vector<fb::Offset<arrow::Field>>());
  return arrow::CreateField(builder, name, false, kind, type, 0, children);
}

fb::Offset<fb::Vector<fb::Offset<arrow::KeyValue>>> hash_metadata(fb::FlatBufferBuilder& builder,
                                                                  const std::string& hash) {
  const std::vector<fb::Offset<arrow::KeyValue>> metadata{
      arrow::CreateKeyValue(builder, builder.CreateString(kHashKey), builder.CreateString(hash))};
  return builder.CreateVector(metadata);
}

// A column whose name or type is damaged would read as one that the file lacks.
template <class Columns>
std::string hash_of_columns(const Columns& columns) {
  std::string text;
  for (const auto& column : columns) {
    text += column.name;
    text += '\0';
    text += static_cast<char>(column.type);
  }
  return hash_text(text.data(), text.size());
}

std::string schema_message(std::span<const ColumnView> columns) {
  fb::FlatBufferBuilder builder;
  std::vector<fb::Offset<arrow::Field>> fields;
  for (const ColumnView& column : columns) fields.push_back(field_of(builder, column));
  const auto schema = arrow::CreateSchema(builder, arrow::Endianness_little, builder.CreateVector(fields),
                                          hash_metadata(builder, hash_of_columns(columns)));
  builder.Finish(arrow::CreateMessage(builder, arrow::MetadataVersion_V5, arrow::MessageHeader_Schema,
                                      schema.Union(), 0));
  return framed(builder);
}

}  // namespace

struct Compressor {
  Compressor() {
    if (context == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
  }
  ~Compressor() { ZSTD_freeCCtx(context); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Adds a buffer to a body: its length, then what zstd makes of it, or -1 and the bytes where that is no
  // shorter.
  void append(std::string& body, const void* bytes, std::size_t size, std::vector<arrow::Buffer>& buffers) {
    const std::size_t begin = body.size();
    if (size > 0) {
      constexpr std::size_t kPrefix = sizeof(std::int64_t);
      body.resize(begin + kPrefix + ZSTD_compressBound(size));
      std::size_t compressed =
          ZSTD_compress2(context, body.data() + begin + kPrefix, body.size() - begin - kPrefix, bytes, size);
      std::int64_t length = static_cast<std::int64_t>(size);
      if (ZSTD_isError(compressed) != 0 || compressed >= size) {
        length = -1;
        compressed = size;
        std::memcpy(body.data() + begin + kPrefix, bytes, size);
      }
      std::memcpy(body.data() + begin, &length, kPrefix);
      body.resize(begin + kPrefix + compressed);
    }
    buffers.emplace_back(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(body.size() - begin));
    body.resize(padded(body.size()));
  }

  ZSTD_CCtx* context = ZSTD_createCCtx();
};

namespace {

// The message of a record batch with its body.
std::string batch_message(std::span<const ColumnView> columns, Compressor& compressor) {
  const std::size_t rows = columns.front().rows;
  std::string body;
  std::vector<arrow::Buffer> buffers;
  std::vector<arrow::FieldNode> nodes;
  for (const ColumnView& column : columns) {
    nodes.emplace_back(static_cast<std::int64_t>(rows), 0);
    compressor.append(body, nullptr, 0, buffers);  // which values are valid: all, so that no bits are needed
    if (column.type != ColumnType::text) {
      compressor.append(body, column.values, rows * width_of(column.type), buffers);
      continue;
    }
    const auto* texts = static_cast<const std::string*>(column.values);
    std::vector<std::int32_t> offsets{0};
    std::string characters;
    for (std::size_t i = 0; i < rows; ++i) {
      characters += texts[i];
      offsets.push_back(static_cast<std::int32_t>(characters.size()));
    }
    compressor.append(body, offsets.data(), offsets.size() * sizeof(std::int32_t), buffers);
    compressor.append(body, characters.data(), characters.size(), buffers);
  }

  fb::FlatBufferBuilder builder;
  const auto compression = arrow::CreateBodyCompression(builder, arrow::CompressionType_zstd);
  const auto batch =
      arrow::CreateRecordBatch(builder, static_cast<std::int64_t>(rows), builder.CreateVectorOfStructs(nodes),
                               builder.CreateVectorOfStructs(buffers), compression);
  const std::string hash = hash_of_batch(static_cast<std::int64_t>(rows), buffers.data(),
                                         buffers.size() * sizeof(arrow::Buffer), body.data(), body.size());
  builder.Finish(arrow::CreateMessage(builder, arrow::MetadataVersion_V5, arrow::MessageHeader_RecordBatch,
                                      batch.Union(), static_cast<std::int64_t>(body.size()),
                                      hash_metadata(builder, hash)));
  return framed(builder) + body;
}

}  // namespace

StreamWriter::StreamWriter(std::string path) : path_(std::move(path)) {}

StreamWriter::~StreamWriter() {
  if (file_ >= 0) ::close(file_);
}

int StreamWriter::append(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int problem = count < 0 ? errno : ENOSPC;
      // Half a batch would end the stream for its readers; where it cannot be taken back nothing may follow
      // it.
      if (done > 0 && (::ftruncate(file_, static_cast<off_t>(size_)) != 0 ||
                       ::lseek(file_, static_cast<off_t>(size_), SEEK_SET) < 0)) {
        ::close(file_);
        file_ = -1;
        is_broken_ = true;
      }
      return problem;
    }
    done += static_cast<std::size_t>(count);
  }
  size_ += bytes.size();
  return 0;
}

int StreamWriter::open(std::span<const ColumnView> columns) {
  if (is_broken_) return EIO;
  if (file_ < 0) {
    if (compressor_ == nullptr) compressor_ = std::make_unique<Compressor>();
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0) return errno;
  }
  return size_ == 0 ? append(schema_message(columns)) : 0;
}

int StreamWriter::reserve(std::span<const ColumnView> columns, std::size_t bytes) {
  if (const int problem = open(columns); problem != 0) return problem;
  return ::fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_), static_cast<off_t>(bytes)) == 0
             ? 0
             : errno;
}

int StreamWriter::write(std::span<const ColumnView> columns) {
  if (const int problem = open(columns); problem != 0) return problem;
  return append(batch_message(columns, *compressor_));
}

int StreamWriter::finish() {
  if (file_ < 0) return 0;
  const std::array<std::uint32_t, 2> marker{kContinuation, 0};
  const int problem = append({reinterpret_cast<const char*>(marker.data()), sizeof marker});
  if (file_ < 0) return problem;
  const int cut =
      ::ftruncate(file_, static_cast<off_t>(size_)) == 0 ? 0 : errno;  // what is left of a reserve
  ::close(file_);
  file_ = -1;
  return problem != 0 ? problem : cut;
}

struct OpenFile {
  explicit OpenFile(const std::string& path) : file(std::fopen(path.c_str(), "rbe")) {
    struct stat status {};
    if (file != nullptr && ::fstat(::fileno(file), &status) == 0)
      size = static_cast<std::uint64_t>(status.st_size);
  }
  ~OpenFile() {
    if (file != nullptr) std::fclose(file);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool read(void* bytes, std::size_t count) {
    if (count > size - position || std::fread(bytes, 1, count, file) != count) return false;
    position += count;
    return true;
  }

  std::FILE* file;
  std::uint64_t size = 0, position = 0;
};

StreamReader::StreamReader(const std::string& path) : file_(std::make_unique<OpenFile>(path)) {
  if (file_->file == nullptr) {
    stop(std::strerror(errno));
  } else if (read_message() == Found::message && !read_schema()) {
    stop("it does not begin with the schema of a table in the format of Arrow, or that is damaged");
  }
}

StreamReader::~StreamReader() = default;

bool StreamReader::stop(std::string problem) {
  end_.problem = std::move(problem);
  columns_.clear();
  rows_ = 0;
  return false;
}

// A message that is not whole is where the process was ended: no problem, but the end.
StreamReader::Found StreamReader::read_message() {
  std::array<std::uint32_t, 2> prefix{};
  if (!file_->read(prefix.data(), sizeof prefix)) return Found::nothing;
  if (prefix[0] != kContinuation) {
    stop("it is no stream of Arrow's IPC format, or is damaged at byte " +
         std::to_string(file_->position - sizeof prefix));
    return Found::nothing;
  }
  if (prefix[1] == 0) return Found::end;
  const auto damaged = [&] {
    stop("a message is damaged before byte " + std::to_string(file_->position));
    return Found::nothing;
  };
  if (prefix[1] > kMostMetadata) return damaged();
  metadata_.resize(prefix[1]);
  if (!file_->read(metadata_.data(), metadata_.size())) return Found::nothing;
  fb::Verifier verifier(reinterpret_cast<const std::uint8_t*>(metadata_.data()), metadata_.size());
  if (!arrow::VerifyMessageBuffer(verifier)) return damaged();
  const std::int64_t length = arrow::GetMessage(metadata_.data())->body_length();
  if (length < 0) return damaged();
  if (static_cast<std::uint64_t>(length) > file_->size - file_->position) return Found::nothing;
  body_.resize(static_cast<std::size_t>(length));
  return file_->read(body_.data(), body_.size()) ? Found::message : Found::nothing;
}

namespace {

// Only what carries a hash is checked by it: other writers of Arrow leave it out.
using KeyValues = fb::Vector<fb::Offset<arrow::KeyValue>>;
bool has_hash(const KeyValues* metadata, const std::string& hash) {
  if (metadata == nullptr) return true;
  for (const arrow::KeyValue* entry : *metadata) {
    if (entry->key() == nullptr || entry->value() == nullptr || entry->key()->str() != kHashKey) continue;
    if (entry->value()->str() != hash) return false;
  }
  return true;
}

}  // namespace

bool StreamReader::read_schema() {
  const arrow::Schema* schema = arrow::GetMessage(metadata_.data())->header_as_Schema();
  if (schema == nullptr || schema->fields() == nullptr) return false;
  for (const arrow::Field* field : *schema->fields()) {
    Column column{field->name() == nullptr ? "" : field->name()->str(), ColumnType::text};
    if (const arrow::Int* integer = field->type_as_Int(); integer != nullptr) {
      const TypeOfColumn* found = nullptr;
      for (const TypeOfColumn& type : kIntegers) {
        if (static_cast<int>(8 * type.width) == integer->bit_width() &&
            type.is_signed == integer->is_signed()) {
          found = &type;
        }
      }
      if (found == nullptr) return false;
      column.type = found->type;
    } else if (field->type_type() == arrow::Type_FloatingPoint) {
      column.type = ColumnType::f64;
    } else if (field->type_type() != arrow::Type_Utf8) {
      return false;
    }
    columns_.push_back(std::move(column));
  }
  return has_hash(schema->custom_metadata(), hash_of_columns(columns_));
}

namespace {

// Takes one buffer out of a body; nullopt if it is damaged. `size` is what it must have, or nullopt where any
// will do. `budget` is how many bytes the batch may yet have.
template <class Value>
bool read_buffer(const std::vector<char>& body, const arrow::Buffer& buffer, std::optional<std::size_t> size,
                 std::size_t& budget, std::vector<Value>& values) {
  const std::int64_t offset = buffer.offset(), length = buffer.length();
  const auto body_size = static_cast<std::int64_t>(body.size());
  if (offset < 0 || length < 0 || offset > body_size || length > body_size - offset) return false;
  std::int64_t whole = 0;
  if (length > 0) {
    if (length < static_cast<std::int64_t>(sizeof whole)) return false;
    std::memcpy(&whole, body.data() + offset, sizeof whole);
  }
  const char* bytes = body.data() + offset + sizeof whole;
  const auto count =
      static_cast<std::size_t>(length == 0 ? 0 : length - static_cast<std::int64_t>(sizeof whole));
  if (whole < -1) return false;
  const std::size_t full = whole == -1 ? count : static_cast<std::size_t>(whole);
  if (full != size.value_or(full) || full > kMostTextBytes || full % sizeof(Value) != 0) return false;
  if (full > budget) return false;
  budget -= full;
  values.resize(full / sizeof(Value));
  if (full == 0) return true;
  if (whole == -1) {
    std::memcpy(values.data(), bytes, full);
    return true;
  }
  return ZSTD_decompress(values.data(), full, bytes, count) == full;
}

bool are_offsets(const std::vector<std::int32_t>& offsets, std::size_t bytes) {
  if (offsets.empty() || offsets.front() != 0 || static_cast<std::size_t>(offsets.back()) > bytes)
    return false;
  return std::is_sorted(offsets.begin(), offsets.end());
}

}  // namespace

bool StreamReader::read_batch() {
  const arrow::Message* message = arrow::GetMessage(metadata_.data());
  const arrow::RecordBatch* batch = message->header_as_RecordBatch();
  if (batch == nullptr || batch->length() < 0 || batch->length() > kMostRows || batch->buffers() == nullptr)
    return false;
  if (batch->compression() == nullptr || batch->compression()->codec() != arrow::CompressionType_zstd)
    return false;
  const auto& buffers_of_batch = *batch->buffers();
  const std::string hash =
      hash_of_batch(batch->length(), buffers_of_batch.Data(), buffers_of_batch.size() * sizeof(arrow::Buffer),
                    body_.data(), body_.size());
  if (!has_hash(message->custom_metadata(), hash)) return false;
  rows_ = static_cast<std::size_t>(batch->length());
  buffers_.resize(columns_.size());
  std::size_t budget = body_.size() * kMostTimesLonger;
  fb::uoffset_t next = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool is_text = columns_[i].type == ColumnType::text;
    if (batch->buffers()->size() < next + (is_text ? 3 : 2)) return false;
    const arrow::Buffer& validity = *batch->buffers()->Get(next++);
    if (validity.length() != 0) return false;  // a table of ours has no nulls
    Buffers& buffers = buffers_[i];
    if (is_text &&
        (!read_buffer(body_, *batch->buffers()->Get(next++), (rows_ + 1) * sizeof(std::int32_t), budget,
                      buffers.offsets) ||
         !read_buffer(body_, *batch->buffers()->Get(next++), std::nullopt, budget, buffers.values) ||
         !are_offsets(buffers.offsets, buffers.values.size()))) {
      return false;
    }
    if (!is_text && !read_buffer(body_, *batch->buffers()->Get(next++), rows_ * width_of(columns_[i].type),
                                 budget, buffers.values)) {
      return false;
    }
  }
  end_.rows += rows_;
  return true;
}

bool StreamReader::next() {
  if (columns_.empty()) return false;
  switch (read_message()) {
    case Found::end: end_.is_complete = true; return false;
    case Found::nothing: return false;
    case Found::message: break;
  }
  if (read_batch()) return true;
  return stop("a batch is damaged before byte " + std::to_string(file_->position) +
              ", or was written by another program");
}

std::span<const std::byte> StreamReader::values(std::size_t column) const { return buffers_[column].values; }

std::vector<std::string> StreamReader::texts(std::size_t column) const {
  const Buffers& buffers = buffers_[column];
  const char* characters = reinterpret_cast<const char*>(buffers.values.data());
  std::vector<std::string> texts;
  texts.reserve(rows_);
  for (std::size_t i = 0; i < rows_; ++i) {
    texts.emplace_back(characters + buffers.offsets[i],
                       static_cast<std::size_t>(buffers.offsets[i + 1] - buffers.offsets[i]));
  }
  return texts;
}

}  // namespace jitterscope::capture
