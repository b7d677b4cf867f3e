#include "judge/keys.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

#include "device/cpu/number_formats.hpp"
#include "jitterscope/error.hpp"
#include "judge/in_parts.hpp"

namespace jitterscope::judging {

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool read_hexadecimal(std::string_view text, std::span<std::uint8_t, 32> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() != 2 * bytes.size()) return false;
  if (text.find_first_not_of(kDigits) != std::string_view::npos) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(kDigits.find(text[2 * i]) * 16 + kDigits.find(text[2 * i + 1]));
  }
  return true;
}

namespace {

std::array<std::uint8_t, 8> little_endian(std::uint64_t number) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return bytes;
}

void read_words(std::span<const std::uint8_t, 32> bytes, std::uint32_t (&words)[8]) {
  std::memcpy(words, bytes.data(), sizeof(words));
}
std::array<std::uint8_t, 32> bytes_of(const std::uint32_t (&words)[8]) {
  std::array<std::uint8_t, 32> bytes{};
  std::memcpy(bytes.data(), words, sizeof(words));
  return bytes;
}

}  // namespace

KeyedHash::KeyedHash(std::span<const std::uint8_t> key) {
  constexpr std::uint32_t kOneLeaf = 0x01010000u, kLength = 32;
  if (key.size() > 32) throw UsageError("a key has at most 32 bytes");
  for (int i = 0; i < 8; ++i) state_[i] = start_word(i);
  state_[0] ^= kOneLeaf ^ (static_cast<std::uint32_t>(key.size()) << 8) ^ kLength;
  if (key.empty()) return;
  std::ranges::copy(key, block_.begin());
  filled_ = block_.size();
}

void KeyedHash::add(std::span<const std::uint8_t> part) {
  while (!part.empty()) {
    // The last block is compressed by end(), so a full one waits for the byte behind it.
    if (filled_ == block_.size()) {
      length_ += filled_;
      compress_block(false);
      filled_ = 0;
    }
    const std::size_t taken = std::min(part.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, part.data(), taken);
    filled_ += taken;
    part = part.subspan(taken);
  }
}

std::array<std::uint8_t, 32> KeyedHash::end() {
  length_ += filled_;
  std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), std::uint8_t{0});
  compress_block(true);
  return bytes_of(state_);
}

void KeyedHash::compress_block(bool is_last) {
  std::uint32_t words[16];
  std::memcpy(words, block_.data(), sizeof(words));
  compress<kKeyRounds, std::uint32_t>(state_, words,
                                      {static_cast<std::uint32_t>(length_),
                                       static_cast<std::uint32_t>(length_ >> 32), is_last ? ~0u : 0u, 0u});
}

namespace {

std::span<const std::uint8_t> bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Key random_key() {
  Key key;
  std::size_t filled = 0;
  while (filled < key.bytes.size()) {
    const ssize_t count = ::getrandom(key.bytes.data() + filled, key.bytes.size() - filled, 0);
    if (count > 0) filled += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) throw FailedError("the system gives no random numbers for a key");
  }
  return key;
}

Key key_of(const Key& session, std::uint64_t number) {
  KeyedHash hash(session.bytes);
  hash.add(bytes_of_text("key"));
  hash.add(little_endian(number));
  return {hash.end()};
}

Digest first_digest_of(const Key& key) {
  std::uint32_t words[8], digest[8];
  read_words(key.bytes, words);
  first_digest(words, digest);
  return {bytes_of(digest)};
}

namespace {

// Hashes several leaves at once, which a compiler makes wide instructions of.
constexpr std::size_t kLanes = 4;
using Lanes = std::uint32_t __attribute__((vector_size(4 * kLanes)));

// Adds the hashes of a group's leaves; the message ends where its bytes end.
void add_group(const std::uint32_t (&key)[8], std::span<const std::uint8_t> message, std::uint64_t first_leaf,
               std::uint32_t level, std::uint32_t (&sum)[8]) {
  for (std::size_t leaf = 0; leaf * kLeafBytes < message.size(); leaf += kLanes) {
    std::array<std::uint8_t, kLanes * kLeafBytes> bytes{};
    const auto part = message.subspan(leaf * kLeafBytes);
    std::memcpy(bytes.data(), part.data(), std::min(part.size(), bytes.size()));
    const std::size_t leaves = std::min(kLanes, (part.size() + kLeafBytes - 1) / kLeafBytes);
    Lanes words[16], low, high, hashes[8];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t index = first_leaf + leaf + lane;
      low[lane] = static_cast<std::uint32_t>(index);
      high[lane] = static_cast<std::uint32_t>(index >> 32);
      for (std::size_t word = 0; word < 16; ++word) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + lane * kLeafBytes + 4 * word, sizeof(value));
        words[word][lane] = value;
      }
    }
    hash_leaf(key, words, low, high, level, hashes);
    for (std::size_t lane = 0; lane < leaves; ++lane) {
      for (int word = 0; word < 8; ++word) sum[word] += hashes[word][lane];
    }
  }
}

// The sum of the last group of a call's outputs. It depends on this call alone, so that threads compute it.
struct Top {
  std::uint32_t sum[8] = {};
  std::uint32_t level = 0;
};

Top top_of(const std::uint32_t (&key)[8], std::span<const std::uint8_t> outputs) {
  Top top;
  std::span<const std::uint8_t> message = outputs;
  std::vector<std::uint8_t> nodes;
  for (; message.size() > kGroupBytes; ++top.level) {
    const std::size_t groups = (message.size() + kGroupBytes - 1) / kGroupBytes;
    std::vector<std::uint8_t> next(groups * kNodeBytes);
    in_parts(groups, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t group = begin; group < end; ++group) {
        std::uint32_t of_group[8] = {}, node[8];
        const auto part = message.subspan(group * kGroupBytes);
        add_group(key, part.first(std::min<std::size_t>(part.size(), kGroupBytes)), group * kLeavesOfGroup,
                  top.level, of_group);
        hash_pair(key, of_group, {}, group, top.level, Role::node, node);
        std::memcpy(next.data() + group * kNodeBytes, node, sizeof(node));
      }
    });
    nodes = std::move(next);
    message = nodes;
  }
  add_group(key, message, 0, top.level, top.sum);
  return top;
}

}  // namespace

std::vector<Digest> digests_of(const Key& key, const Digest& first, std::span<const std::uint8_t> outputs,
                               std::size_t calls) {
  std::uint32_t words[8], before[8], digest[8];
  read_words(key.bytes, words);
  read_words(first.bytes, before);
  const std::size_t bytes = calls == 0 ? 0 : outputs.size() / calls;
  std::vector<Top> tops(calls);
  const std::size_t worth_a_thread = 1 + (std::size_t{1} << 20) / std::max<std::size_t>(1, bytes);
  in_parts(calls, worth_a_thread, [&](std::size_t begin, std::size_t end) {
    for (std::size_t call = begin; call < end; ++call)
      tops[call] = top_of(words, outputs.subspan(call * bytes, bytes));
  });
  std::vector<Digest> digests;
  for (const Top& top : tops) {
    hash_pair(words, top.sum, before, bytes, top.level, Role::last, digest);
    digests.push_back({bytes_of(digest)});
    std::memcpy(before, digest, sizeof(before));
  }
  return digests;
}

Digest digest_of(const Key& key, const Digest& before, std::span<const std::uint8_t> outputs) {
  return digests_of(key, before, outputs, 1).front();
}

Seed seed_of(const Key& key, std::string_view purpose) {
  KeyedHash hash(key.bytes);
  hash.add(bytes_of_text(purpose));
  return {hash.end()};
}

// Below: inputs.

std::string_view to_string(Family family) {
  switch (family) {
    case Family::normal: return "normal";
    case Family::uniform: return "uniform";
    case Family::rows: return "rows";
    case Family::spikes: return "spikes";
    case Family::structured: return "structured";
    case Family::zeros: return "zeros";
    case Family::large: return "large";
    case Family::denormal: return "denormal";
    case Family::nonfinite: return "nonfinite";
  }
  return "";
}

Family family_of(std::string_view word) {
  std::string known;
  for (const Family family : kFamilies) {
    if (to_string(family) == word) return family;
    known += (known.empty() ? "" : ", ") + std::string(to_string(family));
  }
  throw UsageError(fmt::format("an input's family '{}' is unknown; it is one of {}", word, known));
}

std::int64_t InputDescription::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::size_t InputDescription::bytes() const {
  return static_cast<std::size_t>(elements() * element_size(dtype).value());
}

std::string to_string(const InputDescription& input) {
  const bool is_integer = input.dtype == DataType::i64 || input.dtype == DataType::i32;
  std::string text = fmt::format("{}[{}] ", to_string(input.dtype), fmt::join(input.shape, ","));
  text += is_integer ? fmt::format("below {}", input.below) : std::string(to_string(input.family));
  if (!is_integer && input.scale != 1.0) text += fmt::format(" times {:g}", input.scale);
  return input.persistent ? text + " persistent" : text;
}

DataType dtype_of(std::string_view word) {
  using enum DataType;
  for (const DataType each : {f64, f32, f16, bf16, i64, i32}) {
    if (to_string(each) == word) return each;
  }
  throw UsageError(
      fmt::format("a type '{}' is unknown here; it is one of f64, f32, f16, bf16, i64, i32", word));
}

namespace {

double smallest_normal(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return std::numeric_limits<double>::min();
    case DataType::f16: return 0x1p-14;
    default: return std::numeric_limits<float>::min();
  }
}

template <class Number>
void put_number(std::span<std::uint8_t> memory, std::size_t i, Number number) {
  std::memcpy(memory.data() + i * sizeof(number), &number, sizeof(number));
}

template <class Number>
Number get_number(std::span<const std::uint8_t> memory, std::size_t i) {
  Number number;
  std::memcpy(&number, memory.data() + i * sizeof(number), sizeof(number));
  return number;
}

}  // namespace

Drawing drawing_of(const InputDescription& input, Family family, std::uint32_t index) {
  constexpr std::uint32_t kMostInputs = 1u << 14;  // as many as a counter of random words has room for
  if (index >= kMostInputs) throw UsageError(fmt::format("an input's number {} is too large", index));
  return {.family = family,
          .scale = input.scale,
          .large = input.dtype == DataType::f16 ? 64.0 : 1e4,
          .tiny = smallest_normal(input.dtype) / 8.0,
          .columns = static_cast<std::uint64_t>(
              input.shape.empty() ? 1 : std::max<std::int64_t>(1, input.shape.back())),
          .below = static_cast<std::uint64_t>(std::max<std::int64_t>(1, input.below)),
          .input = index};
}

void fill(const InputDescription& input, Family family, const Seed& seed, std::uint32_t index,
          std::span<std::uint8_t> memory) {
  if (memory.size() != input.bytes()) {
    throw UsageError(
        fmt::format("an input of {} bytes was to be filled with {}", memory.size(), input.bytes()));
  }
  const Drawing drawing = drawing_of(input, family, index);
  const auto count = static_cast<std::size_t>(input.elements());
  std::uint32_t words[8];
  read_words(seed.bytes, words);
  const auto put_all = [&](const auto& number_of) {
    in_parts((count + 1) / 2, std::size_t{1} << 15, [&](std::size_t begin, std::size_t end) {
      for (std::size_t pair = begin; pair < end; ++pair) {
        std::uint64_t bits[2];
        double values[2];
        draw_pair(drawing, words, pair, bits, values);
        for (std::size_t i = 0; i < 2 && 2 * pair + i < count; ++i)
          put_number(memory, 2 * pair + i, number_of(bits[i], values[i]));
      }
    });
  };
  using Bits = std::uint64_t;
  switch (input.dtype) {
    case DataType::f64: return put_all([](Bits, double value) { return value; });
    case DataType::f32:
    case DataType::tf32: return put_all([](Bits, double value) { return static_cast<float>(value); });
    case DataType::f16:
      return put_all([](Bits, double value) { return cpu::Half::write(static_cast<float>(value)); });
    case DataType::bf16:
      return put_all([](Bits, double value) { return cpu::BFloat16::write(static_cast<float>(value)); });
    case DataType::i64:
      return put_all(
          [&](Bits bits, double) { return static_cast<std::int64_t>(whole_number(drawing, bits)); });
    case DataType::i32:
      return put_all(
          [&](Bits bits, double) { return static_cast<std::int32_t>(whole_number(drawing, bits)); });
  }
}

namespace {

double number_at(DataType dtype, std::span<const std::uint8_t> bytes, std::size_t i) {
  switch (dtype) {
    case DataType::f64: return get_number<double>(bytes, i);
    case DataType::f32:
    case DataType::tf32: return get_number<float>(bytes, i);
    case DataType::f16: return cpu::Half::read(get_number<std::uint16_t>(bytes, i));
    case DataType::bf16: return cpu::BFloat16::read(get_number<std::uint16_t>(bytes, i));
    case DataType::i64: return static_cast<double>(get_number<std::int64_t>(bytes, i));
    case DataType::i32: return get_number<std::int32_t>(bytes, i);
  }
  return 0.0;
}

}  // namespace

std::vector<double> numbers_of(DataType dtype, std::span<const std::uint8_t> bytes) {
  const auto size = static_cast<std::size_t>(element_size(dtype).value());
  if (bytes.size() % size != 0) {
    throw UsageError(fmt::format("{} bytes are no whole number of {}", bytes.size(), to_string(dtype)));
  }
  std::vector<double> numbers(bytes.size() / size);
  in_parts(numbers.size(), std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = number_at(dtype, bytes, i);
  });
  return numbers;
}

}  // namespace jitterscope::judging
