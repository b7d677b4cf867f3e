#include "judge/keys.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <sys/random.h>

#include "device/cpu/number_formats.hpp"
#include "jitterscope/error.hpp"

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

constexpr std::array<std::uint64_t, 8> kStart = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
constexpr std::array<std::array<std::uint8_t, 16>, 10> kOrder = {{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};
constexpr std::size_t kRounds = 12;

std::array<std::uint8_t, 8> little_endian(std::uint64_t number) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return bytes;
}

}  // namespace

KeyedHash::KeyedHash(std::span<const std::uint8_t> key) : state_(kStart) {
  constexpr std::uint64_t kOneLeaf = 0x01010000u, kLength = 32;
  if (key.size() > 64) throw UsageError("a key has at most 64 bytes");
  state_[0] ^= kOneLeaf ^ (std::uint64_t{key.size()} << 8) ^ kLength;
  if (key.empty()) return;
  std::ranges::copy(key, block_.begin());
  filled_ = block_.size();
}

void KeyedHash::add(std::span<const std::uint8_t> part) {
  while (!part.empty()) {
    // The last block is compressed by end(), so a full one waits for the byte behind it.
    if (filled_ == block_.size()) {
      length_ += filled_;
      compress(false);
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
  compress(true);
  std::array<std::uint8_t, 32> hash{};
  for (std::size_t i = 0; i < 4; ++i) std::ranges::copy(little_endian(state_[i]), hash.begin() + 8 * i);
  return hash;
}

void KeyedHash::compress(bool is_last) {
  std::array<std::uint64_t, 16> words{}, v{};
  std::memcpy(words.data(), block_.data(), block_.size());
  std::ranges::copy(state_, v.begin());
  std::ranges::copy(kStart, v.begin() + 8);
  v[12] ^= length_;
  if (is_last) v[14] = ~v[14];
  const auto mix = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint64_t x,
                       std::uint64_t y) {
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 63);
  };
  for (std::size_t round = 0; round < kRounds; ++round) {
    const auto& order = kOrder[round % kOrder.size()];
    for (std::size_t i = 0; i < 4; ++i) {
      mix(i, i + 4, i + 8, i + 12, words[order[2 * i]], words[order[2 * i + 1]]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, words[order[2 * i + 8]],
          words[order[2 * i + 9]]);
    }
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
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

Seed seed_of(const Key& key, std::uint64_t call, const Digest& before) {
  KeyedHash hash(key.bytes);
  hash.add(little_endian(call));
  hash.add(before.bytes);
  return {hash.end()};
}

Digest digest_of(const Key& key, const Digest& before, std::span<const std::uint8_t> outputs) {
  KeyedHash hash(key.bytes);
  hash.add(before.bytes);
  hash.add(outputs);
  return {hash.end()};
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

// xoshiro256** (Blackman and Vigna): all 256 bits of a seed are its state.
class Values {
 public:
  Values(const Seed& seed, std::uint32_t index) {
    KeyedHash hash(seed.bytes);
    hash.add(little_endian(index));
    const auto bytes = hash.end();
    std::memcpy(state_.data(), bytes.data(), bytes.size());
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() {
    constexpr double kMean = 2.0 * 65535.0, kDeviation = 65536.0 / 1.7320508075688772;
    const std::uint64_t bits = next();
    const std::uint64_t sum =
        (bits & 0xffffu) + ((bits >> 16) & 0xffffu) + ((bits >> 32) & 0xffffu) + (bits >> 48);
    return (static_cast<double>(sum) - kMean) / kDeviation;
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

double smallest_normal(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return std::numeric_limits<double>::min();
    case DataType::f16: return 0x1p-14;
    default: return std::numeric_limits<float>::min();
  }
}

// Calls take(i, value) for each element in order.
template <class Take>
void draw(const InputDescription& input, Family family, Values& values, const Take& take) {
  const std::int64_t count = input.elements();
  const std::int64_t columns = input.shape.empty() ? 1 : std::max<std::int64_t>(1, input.shape.back());
  const double large = input.dtype == DataType::f16 ? 64.0 : 1e4;
  const double tiny = smallest_normal(input.dtype) / 8.0;
  double of_row = 1.0;
  for (std::int64_t i = 0; i < count; ++i) {
    switch (family) {
      case Family::normal: take(i, values.normal()); break;
      case Family::uniform: take(i, values.uniform()); break;
      case Family::rows:
        if (i % columns == 0) of_row = std::ldexp(1.0, static_cast<int>(values.next() % 7) - 3);
        take(i, of_row * values.normal());
        break;
      case Family::spikes: {
        const double value = values.normal();
        take(i, (values.next() >> 56) == 0 ? 32.0 * value : value);
        break;
      }
      case Family::structured:
        if (i % columns == 0) of_row = values.normal();
        take(i, of_row * (2.0 * static_cast<double>(i % columns) / static_cast<double>(columns) - 1.0) +
                    0.1 * values.normal());
        break;
      case Family::zeros: take(i, 0.0); break;
      case Family::large: take(i, large * values.normal()); break;
      case Family::denormal: take(i, tiny * values.normal()); break;
      case Family::nonfinite: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        constexpr std::array kSpecial = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
        const double value = values.normal();
        const std::uint64_t chosen = values.next();
        take(i, (chosen >> 60) == 0 ? kSpecial[chosen % kSpecial.size()] : value);
        break;
      }
    }
  }
}

template <class Number>
void put_number(std::span<std::uint8_t> memory, std::int64_t i, Number number) {
  std::memcpy(memory.data() + static_cast<std::size_t>(i) * sizeof(number), &number, sizeof(number));
}

template <class Number>
Number get_number(std::span<const std::uint8_t> memory, std::size_t i) {
  Number number;
  std::memcpy(&number, memory.data() + i * sizeof(number), sizeof(number));
  return number;
}

}  // namespace

void fill(const InputDescription& input, Family family, const Seed& seed, std::uint32_t index,
          std::span<std::uint8_t> memory) {
  if (memory.size() != input.bytes()) {
    throw UsageError(
        fmt::format("an input of {} bytes was to be filled with {}", memory.size(), input.bytes()));
  }
  Values values(seed, index);
  const auto draw_to = [&](const auto& written) {
    draw(input, family, values,
         [&](std::int64_t i, double value) { put_number(memory, i, written(input.scale * value)); });
  };
  switch (input.dtype) {
    case DataType::f64: return draw_to([](double value) { return value; });
    case DataType::f32:
    case DataType::tf32: return draw_to([](double value) { return static_cast<float>(value); });
    case DataType::f16:
      return draw_to([](double value) { return cpu::Half::write(static_cast<float>(value)); });
    case DataType::bf16:
      return draw_to([](double value) { return cpu::BFloat16::write(static_cast<float>(value)); });
    case DataType::i64:
    case DataType::i32: break;
  }
  const auto below = static_cast<std::uint64_t>(std::max<std::int64_t>(1, input.below));
  for (std::int64_t i = 0; i < input.elements(); ++i) {
    const std::uint64_t value = family == Family::zeros ? 0 : values.next() % below;
    if (input.dtype == DataType::i64) put_number(memory, i, static_cast<std::int64_t>(value));
    if (input.dtype == DataType::i32) put_number(memory, i, static_cast<std::int32_t>(value));
  }
}

std::vector<double> numbers_of(DataType dtype, std::span<const std::uint8_t> bytes) {
  const auto size = static_cast<std::size_t>(element_size(dtype).value());
  if (bytes.size() % size != 0) {
    throw UsageError(fmt::format("{} bytes are no whole number of {}", bytes.size(), to_string(dtype)));
  }
  std::vector<double> numbers(bytes.size() / size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    switch (dtype) {
      case DataType::f64: numbers[i] = get_number<double>(bytes, i); break;
      case DataType::f32:
      case DataType::tf32: numbers[i] = get_number<float>(bytes, i); break;
      case DataType::f16: numbers[i] = cpu::Half::read(get_number<std::uint16_t>(bytes, i)); break;
      case DataType::bf16: numbers[i] = cpu::BFloat16::read(get_number<std::uint16_t>(bytes, i)); break;
      case DataType::i64: numbers[i] = static_cast<double>(get_number<std::int64_t>(bytes, i)); break;
      case DataType::i32: numbers[i] = get_number<std::int32_t>(bytes, i); break;
    }
  }
  return numbers;
}

}  // namespace jitterscope::judging
