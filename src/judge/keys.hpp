// The seeds and digests of a chain, and the values of inputs, as they follow from a key.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/judged_arithmetic.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::judging {

/// 256 bits that only whoever knows where they come from can know.
template <class Tag>
struct Secret {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Secret&) const = default;
};
using Key = Secret<struct KeyTag>;        ///< of a round: released as its clock starts
using Seed = Secret<struct SeedTag>;      ///< of one call's inputs
using Digest = Secret<struct DigestTag>;  ///< of a call's outputs and all before

std::string hexadecimal(std::span<const std::uint8_t> bytes);
/// Returns false, and changes nothing, if the text is not 64 hexadecimal digits.
bool read_hexadecimal(std::string_view text, std::span<std::uint8_t, 32> bytes);

/// BLAKE2s with a key and 256 bits (RFC 7693), as Python's hashlib has it.
class KeyedHash {
 public:
  /// Throws UsageError if the key is longer than 32 bytes.
  explicit KeyedHash(std::span<const std::uint8_t> key);
  void add(std::span<const std::uint8_t> part);
  std::array<std::uint8_t, 32> end();

 private:
  void compress_block(bool is_last);

  std::uint32_t state_[8] = {};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// Returns 256 bits of the system's random numbers.
Key random_key();
/// Returns the key with this number of a session: who has the session's key can repeat every round.
Key key_of(const Key& session, std::uint64_t number);

/// Digest before the first call of a chain.
Digest first_digest_of(const Key& key);
/// Seed of a call, whose inputs follow from what the calls before wrote: the digest of these.
inline Seed seed_after(const Digest& before) { return {before.bytes}; }
/// Digest of a call's outputs and of all calls before it, so that the last one stands for the whole chain: a
/// worker that has given it away can no longer change what it kept.
Digest digest_of(const Key& key, const Digest& before, std::span<const std::uint8_t> outputs);
/// Digests behind each call of a chain, whose outputs are equally long and lie one behind the other. Several
/// threads do it.
std::vector<Digest> digests_of(const Key& key, const Digest& first, std::span<const std::uint8_t> outputs,
                               std::size_t calls);
/// Returns the seed of an input that is filled alone: tests of one input at a time, persistent inputs.
Seed seed_of(const Key& key, std::string_view purpose);

// Below: inputs.

std::string_view to_string(Family);
inline constexpr std::array kFamilies = {Family::normal, Family::uniform,    Family::rows,
                                         Family::spikes, Family::structured, Family::zeros,
                                         Family::large,  Family::denormal,   Family::nonfinite};
/// Throws UsageError that lists all families for an unknown word.
Family family_of(std::string_view word);

struct InputDescription {
  DataType dtype = DataType::f32;
  std::vector<std::int64_t> shape;
  Family family = Family::normal;
  bool persistent = false;   ///< drawn once for each process, as weights are
  std::int64_t below = 256;  ///< integers are uniform in [0, below)
  double scale = 1.0;        ///< all other values are times this

  std::int64_t elements() const;
  std::size_t bytes() const;
};

/// Returns "f32[64,64] normal", with "times 0.02" or "below 1000" and "persistent" where that is so.
std::string to_string(const InputDescription& input);

/// Throws UsageError for a type that no array has (tf32).
DataType dtype_of(std::string_view word);

/// How an input's values are drawn if it is of this family and has this index among all inputs.
Drawing drawing_of(const InputDescription& input, Family family, std::uint32_t index);

/// Fills an input, of which there are several: each has its `index`. The values are the same on every machine
/// of one byte order, and on its GPU, and depend on nothing else. Integers know uniform values and zeros
/// only. Long inputs take several threads.
void fill(const InputDescription& input, Family family, const Seed& seed, std::uint32_t index,
          std::span<std::uint8_t> memory);

/// Returns elements as numbers. Throws UsageError if the bytes are no whole number of elements.
std::vector<double> numbers_of(DataType dtype, std::span<const std::uint8_t> bytes);

}  // namespace jitterscope::judging
