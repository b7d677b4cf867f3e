// Arithmetic that a judge and what it judges do alike, on hosts and on GPUs: seeds and digests of a chain of
// calls, and the values of inputs. C++17 without the standard library's functions, for nvcc.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define JITTERSCOPE_SHARED __host__ __device__ __forceinline__
#define JITTERSCOPE_UNROLL _Pragma("unroll")
#else
#define JITTERSCOPE_SHARED inline
#define JITTERSCOPE_UNROLL _Pragma("GCC unroll 10")
#endif

namespace jitterscope::judging {

/// How the values of an input are distributed.
enum class Family {
  normal,      ///< four uniform numbers added, which is quick and nearly normal
  uniform,     ///< in [0, 1)
  rows,        ///< normal, each row at a scale of its own between 1/8 and 8
  spikes,      ///< normal, one in 256 times 32
  structured,  ///< a ramp along each row, with a slope of its own and a little noise
  zeros,
  large,      ///< normal times 64 in half precision, else times 10,000
  denormal,   ///< below the smallest normal number
  nonfinite,  ///< normal, one in 16 an infinity or NaN
};

// Below: BLAKE2s (RFC 7693). A faster hash would not do: a worker knows the key while its chain runs, and
// must not find outputs that give a digest of its choice.

/// The standard's initial words.
JITTERSCOPE_SHARED std::uint32_t start_word(int i) {
  constexpr std::uint32_t kStart[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                       0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  return kStart[i];
}

template <class Word>
JITTERSCOPE_SHARED void mix(Word& a, Word& b, Word& c, Word& d, const Word& x, const Word& y) {
  const auto turn = [](const Word& word, int bits) -> Word { return (word >> bits) | (word << (32 - bits)); };
  a = a + b + x;
  d = turn(d ^ a, 16);
  c = c + d;
  b = turn(b ^ c, 12);
  a = a + b + y;
  d = turn(d ^ a, 8);
  c = c + d;
  b = turn(b ^ c, 7);
}

/// The two words that the standard calls counter and the two that it calls finalization flags.
template <class Word>
struct Tags {
  Word count_low, count_high, first, second;
};

/// Compresses a block of 64 bytes into the state. A word may be a vector of several blocks' words. The
/// standard has ten rounds.
template <int kRounds, class Word>
JITTERSCOPE_SHARED void compress(Word (&state)[8], const Word (&block)[16], const Tags<Word>& tags) {
  constexpr unsigned char kOrder[10][16] = {
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
  };
  Word v[16];
  for (int i = 0; i < 8; ++i) {
    v[i] = state[i];
    v[i + 8] = Word{} + start_word(i);
  }
  v[12] = v[12] ^ tags.count_low;
  v[13] = v[13] ^ tags.count_high;
  v[14] = v[14] ^ tags.first;
  v[15] = v[15] ^ tags.second;
  JITTERSCOPE_UNROLL
  for (int round = 0; round < kRounds; ++round) {  // NOLINT(modernize-loop-convert): of fewer rounds, too
    const auto& order = kOrder[round];
    mix(v[0], v[4], v[8], v[12], block[order[0]], block[order[1]]);
    mix(v[1], v[5], v[9], v[13], block[order[2]], block[order[3]]);
    mix(v[2], v[6], v[10], v[14], block[order[4]], block[order[5]]);
    mix(v[3], v[7], v[11], v[15], block[order[6]], block[order[7]]);
    mix(v[0], v[5], v[10], v[15], block[order[8]], block[order[9]]);
    mix(v[1], v[6], v[11], v[12], block[order[10]], block[order[11]]);
    mix(v[2], v[7], v[8], v[13], block[order[12]], block[order[13]]);
    mix(v[3], v[4], v[9], v[14], block[order[14]], block[order[15]]);
  }
  for (int i = 0; i < 8; ++i) state[i] = state[i] ^ v[i] ^ v[i + 8];
}

// Below: digests. Outputs are leaves of 64 bytes, the last one filled up with zeros. The hashes of a group's
// leaves are added, word by word, and the sum is hashed to a node; nodes are the next level's message. A
// group is too small for sums to be steered (Wagner's attack on 256 lists takes 2^28 hashes of each). The
// last group's sum is hashed with the digest before and the number of bytes. Four rounds: after two, each bit
// has spread to all, and who would find outputs with a digest of his choice has the time of a call, not
// years.

constexpr int kLeafBytes = 64, kLeavesOfGroup = 256, kNodeBytes = 32;
constexpr int kGroupBytes = kLeafBytes * kLeavesOfGroup;

constexpr int kTreeRounds = 4, kKeyRounds = 10;

enum class Role : std::uint32_t { leaf = 1, node = 2, last = 3, first = 4 };

/// Hashes a leaf; `out` may hold several of them, as a word may.
template <class Word>
JITTERSCOPE_SHARED void hash_leaf(const std::uint32_t (&key)[8], const Word (&leaf)[16],
                                  const Word& index_low, const Word& index_high, std::uint32_t level,
                                  Word (&out)[8]) {
  for (int i = 0; i < 8; ++i) out[i] = Word{} + key[i];
  compress<kTreeRounds, Word>(
      out, leaf, {index_low, index_high, Word{} + level, Word{} + static_cast<std::uint32_t>(Role::leaf)});
}

/// Hashes two halves of a block with a number and a level.
template <int kRounds = kTreeRounds>
JITTERSCOPE_SHARED void hash_pair(const std::uint32_t (&key)[8], const std::uint32_t (&first)[8],
                                  const std::uint32_t (&second)[8], std::uint64_t number, std::uint32_t level,
                                  Role role, std::uint32_t (&out)[8]) {
  std::uint32_t block[16];
  for (int i = 0; i < 8; ++i) {
    out[i] = key[i];
    block[i] = first[i];
    block[i + 8] = second[i];
  }
  compress<kRounds, std::uint32_t>(
      out, block,
      {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), level,
       static_cast<std::uint32_t>(role)});
}

/// The digest before the first call, which the key alone gives. Each call's seed is the digest before it.
JITTERSCOPE_SHARED void first_digest(const std::uint32_t (&key)[8], std::uint32_t (&digest)[8]) {
  const std::uint32_t nothing[8] = {};
  hash_pair<kKeyRounds>(key, nothing, nothing, 0, 0, Role::first, digest);
}

// Below: values.

/// Which values an input has.
struct Drawing {
  Family family = Family::normal;
  double scale = 1.0;
  double large = 1e4, tiny = 0.0;  ///< factors of the families large and denormal
  std::uint64_t columns = 1;       ///< elements of a row
  std::uint64_t below = 256;       ///< of integers
  std::uint32_t input = 0;         ///< number of the input: each has values of its own
};

/// Each stream of random bits has a use of its own.
enum class Stream : std::uint32_t { values, rows, choices };

/// Philox4x32-10 (Salmon et al., 2011): four words that depend on their place alone, so that threads draw
/// them in any order. The seed's first 128 bits are key and half of the counter.
JITTERSCOPE_SHARED void random_words(const std::uint32_t (&seed)[8], std::uint32_t input, Stream stream,
                                     std::uint64_t place, std::uint32_t (&words)[4]) {
  std::uint32_t key0 = seed[0], key1 = seed[1];
  words[0] = static_cast<std::uint32_t>(place);
  words[1] = (static_cast<std::uint32_t>(place >> 32) & 0xffffu) |
             (static_cast<std::uint32_t>(stream) << 16) | (input << 18);
  words[2] = seed[2];
  words[3] = seed[3];
  JITTERSCOPE_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd2511f53u} * words[0];
    const std::uint64_t second = std::uint64_t{0xcd9e8d57u} * words[2];
    words[0] = static_cast<std::uint32_t>(second >> 32) ^ words[1] ^ key0;
    words[2] = static_cast<std::uint32_t>(first >> 32) ^ words[3] ^ key1;
    words[1] = static_cast<std::uint32_t>(second);
    words[3] = static_cast<std::uint32_t>(first);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
}

JITTERSCOPE_SHARED double nearly_normal(std::uint64_t bits) {
  constexpr double kPerDeviation = 1.7320508075688772 / 65536.0;
  const std::uint32_t sum = static_cast<std::uint32_t>((bits & 0xffffu) + ((bits >> 16) & 0xffffu) +
                                                       ((bits >> 32) & 0xffffu) + (bits >> 48));
  return (static_cast<double>(sum) - 2.0 * 65535.0) * kPerDeviation;
}

/// Draws elements 2 * pair and 2 * pair + 1 of 64 random bits each. Hosts and GPUs get the same bits: nothing
/// is rounded twice in a way that a fused multiplication would change.
JITTERSCOPE_SHARED void draw_pair(const Drawing& drawing, const std::uint32_t (&seed)[8], std::uint64_t pair,
                                  std::uint64_t (&bits)[2], double (&values)[2]) {
  std::uint32_t words[4];
  random_words(seed, drawing.input, Stream::values, pair, words);
  bits[0] = words[0] | (static_cast<std::uint64_t>(words[1]) << 32);
  bits[1] = words[2] | (static_cast<std::uint64_t>(words[3]) << 32);
  std::uint32_t chosen[4] = {};
  if (drawing.family == Family::spikes || drawing.family == Family::nonfinite) {
    random_words(seed, drawing.input, Stream::choices, pair, chosen);
  }
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t element = 2 * pair + static_cast<std::uint64_t>(i);
    std::uint32_t of_row[4] = {};
    if (drawing.family == Family::rows || drawing.family == Family::structured) {
      random_words(seed, drawing.input, Stream::rows, element / drawing.columns, of_row);
    }
    double value = nearly_normal(bits[i]);
    switch (drawing.family) {
      case Family::normal: break;
      case Family::uniform: value = static_cast<double>(bits[i] >> 11) * 0x1p-53; break;
      case Family::rows: {
        const std::uint32_t power = of_row[0] % 7;  // 2^-3 to 2^3
        value = value * (0.125 * static_cast<double>(1u << power));
        break;
      }
      case Family::spikes: value = (chosen[i] >> 24) == 0 ? 32.0 * value : value; break;
      case Family::structured: {
        const double place = static_cast<double>(2 * (element % drawing.columns));
        const double ramp = place / static_cast<double>(drawing.columns) - 1.0;
        const double slope = nearly_normal(of_row[0] | (static_cast<std::uint64_t>(of_row[1]) << 32));
        const double noise = 0.1 * value;
        value = std::fma(slope, ramp, noise);
        break;
      }
      case Family::zeros: value = 0.0; break;
      case Family::large: value = drawing.large * value; break;
      case Family::denormal: value = drawing.tiny * value; break;
      case Family::nonfinite: {
        const std::uint32_t which = chosen[i] % 3;
        if ((chosen[i] >> 28) == 0)
          value = which == 0   ? static_cast<double>(INFINITY)
                  : which == 1 ? -static_cast<double>(INFINITY)
                               : static_cast<double>(NAN);
        break;
      }
    }
    values[i] = drawing.scale * value;
  }
}

/// Returns a whole number in [0, below) of 64 random bits; 0 of the family zeros.
JITTERSCOPE_SHARED std::uint64_t whole_number(const Drawing& drawing, std::uint64_t bits) {
  return drawing.family == Family::zeros ? 0 : bits % drawing.below;
}

// Below: where a judge and a worker meet.

/// One page that both sides' processes map, and the worker's GPU. The judge writes `key` and then `released`;
/// the worker writes `digest` and then `done`. Each is on a line of its own.
struct Mailbox {
  alignas(64) std::uint32_t released;  ///< ticket of the chain that may begin
  std::uint32_t key[8];
  alignas(64) std::uint32_t done;  ///< ticket of the chain that has ended
  std::uint32_t digest[8];
  alignas(64) std::uint32_t queued;  ///< calls that wait for the key
};
constexpr std::uint64_t kMailboxBytes = 4096;

}  // namespace jitterscope::judging
