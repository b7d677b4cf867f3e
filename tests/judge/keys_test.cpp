#include "judge/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "jitterscope/error.hpp"
#include "judge/correctness.hpp"

namespace jitterscope::judging {
namespace {

Key counting_key() {
  Key key;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<std::uint8_t>(i);
  return key;
}

std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i % 251);
  return bytes;
}

// hashlib.blake2s(bytes(i % 251 for i in range(n)), key=bytes(range(32)), digest_size=32)
TEST(KeysTest, HashesAreThoseOfPythonsHashlib) {
  const Key key = counting_key();
  const auto digest = [&](std::size_t count) {
    KeyedHash hash(key.bytes);
    hash.add(counting(count));
    return hexadecimal(hash.end());
  };
  EXPECT_EQ(digest(0), "48a8997da407876b3d79c0d92325ad3b89cbb754d86ab71aee047ad345fd2c49");
  EXPECT_EQ(digest(1), "40d15fee7c328830166ac3f918650f807e7e01e177258cdc0a39b11f598066f1");
  EXPECT_EQ(digest(63), "c65382513f07460da39833cb666c5ed82e61b9e998f4b0c4287cee56c3cc9bcd");
  EXPECT_EQ(digest(64), "8975b0577fd35566d750b362b0897a26c399136df07bababbde6203ff2954ed4");
  EXPECT_EQ(digest(65), "21fe0ceb0052be7fb0f004187cacd7de67fa6eb0938d927677f2398c132317a8");
  EXPECT_EQ(digest(1000), "d5c42863172fb2424de520ff25866bf2ac9201ce81b6a8b703f67ea4c6735767");
}

TEST(KeysTest, ADigestOfPartsIsThatOfTheWhole) {
  const auto bytes = counting(1000);
  KeyedHash whole(counting_key().bytes), hash(counting_key().bytes);
  whole.add(bytes);
  std::span<const std::uint8_t> rest = bytes;
  for (std::size_t part = 1; !rest.empty(); part = part * 2 + 1) {
    const std::size_t taken = std::min(part, rest.size());
    hash.add(rest.first(taken));
    rest = rest.subspan(taken);
  }
  EXPECT_EQ(hash.end(), whole.end());
}

TEST(KeysTest, AScaleMultipliesAllButIntegers) {
  InputDescription input{.dtype = DataType::f64, .shape = {8}};
  std::vector<std::uint8_t> plain(input.bytes()), scaled(input.bytes());
  fill(input, Family::normal, Seed{}, 0, plain);
  input.scale = 0.5;
  fill(input, Family::normal, Seed{}, 0, scaled);
  const auto values = numbers_of(DataType::f64, plain), halves = numbers_of(DataType::f64, scaled);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(halves[i], 0.5 * values[i]);
  EXPECT_EQ(to_string(input), "f64[8] normal times 0.5");
  input = {.dtype = DataType::i64, .shape = {8}, .persistent = true, .below = 5, .scale = 0.5};
  std::vector<std::uint8_t> integers(input.bytes());
  fill(input, Family::normal, Seed{}, 0, integers);
  for (const double value : numbers_of(DataType::i64, integers)) EXPECT_EQ(value, std::floor(value));
  EXPECT_EQ(to_string(input), "i64[8] below 5 persistent");
}

// Another implementation of the tree in judged_arithmetic.hpp gave these, in Python.
TEST(KeysTest, DigestsOfOutputsAreThoseOfTheTree) {
  const Key key = counting_key();
  const auto digest = [&](std::size_t count) {
    return hexadecimal(digest_of(key, Digest{}, counting(count)).bytes);
  };
  EXPECT_EQ(digest(0), "add757ae6e9b32e2604e7520a23aa8bb93ae2a46772267722543cfe92032b633");
  EXPECT_EQ(digest(8), "0b4dea1fbea4450d26128ea3e51321db532b8655f0041fd042711274f5d5662c");
  EXPECT_EQ(digest(65), "4cabfd0b588aeff02f2281ce7386d0e5cd044f25622bc1989d3526b2e104b586");
  EXPECT_EQ(digest(16384), "626d82e373192a4f4151d0243b121be2d06b4c6e7e1d9c8d6b9de9a83a72e0e2");
  EXPECT_EQ(digest(16385), "e40be3697a266274ccf93ebab20001c2b7399fc15d24403c46beb45fc321d1f7");
  EXPECT_EQ(digest(100000), "1d2d1c1447dfbc2e4385d5b421b31778de368886c4cfec0aed100b373bdf1e14");
  EXPECT_EQ(hexadecimal(first_digest_of(key).bytes),
            "249a170cfbc943653285fb5083aafd53b72f0d484095fc12880c2c22b3b16302");
}

TEST(KeysTest, DigestsOfAChainAreThoseOfOneCallAfterTheOther) {
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{40000}, std::size_t{3} << 20}) {
    const auto outputs = counting(5 * bytes);
    const auto digests = digests_of(counting_key(), Digest{}, outputs, 5);
    Digest before;
    for (std::size_t call = 0; call < 5; ++call) {
      before = digest_of(counting_key(), before, std::span(outputs).subspan(call * bytes, bytes));
      EXPECT_EQ(digests.at(call), before) << bytes << ' ' << call;
    }
  }
  EXPECT_TRUE(digests_of(counting_key(), Digest{}, {}, 0).empty());
}

TEST(KeysTest, ADigestStandsForAllCallsBeforeIt) {
  const Digest first = digest_of(counting_key(), Digest{}, counting(8)),
               other = digest_of(counting_key(), Digest{}, counting(9));
  EXPECT_NE(digest_of(counting_key(), first, counting(8)), digest_of(counting_key(), other, counting(8)));
}

TEST(KeysTest, HexadecimalReadsBackAndNothingElseIsRead) {
  Key read;
  ASSERT_TRUE(read_hexadecimal(hexadecimal(counting_key().bytes), read.bytes));
  EXPECT_EQ(read, counting_key());
  EXPECT_FALSE(read_hexadecimal("00", read.bytes));
  EXPECT_FALSE(read_hexadecimal(std::string(64, 'x'), read.bytes));
}

std::vector<double> values_of(DataType dtype, Family family, std::uint32_t index = 0) {
  const InputDescription input{.dtype = dtype, .shape = {64, 64}};
  std::vector<std::uint8_t> memory(input.bytes());
  fill(input, family, Seed{counting_key().bytes}, index, memory);
  return numbers_of(dtype, memory);
}

TEST(KeysTest, NormalValuesHaveMeanZeroAndDeviationOne) {
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    double sum = 0.0, squares = 0.0;
    for (const double value : values_of(dtype, Family::normal)) {
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 4096, 0.0, 0.05) << to_string(dtype);
    EXPECT_NEAR(squares / 4096, 1.0, 0.07) << to_string(dtype);
  }
}

TEST(KeysTest, EachInputHasValuesOfItsOwn) {
  EXPECT_NE(values_of(DataType::f32, Family::normal, 0), values_of(DataType::f32, Family::normal, 1));
  EXPECT_EQ(values_of(DataType::f32, Family::normal, 1), values_of(DataType::f32, Family::normal, 1));
}

TEST(KeysTest, FamiliesAreWhatTheirNamesSay) {
  EXPECT_THAT(values_of(DataType::f32, Family::zeros), testing::Each(0.0));
  EXPECT_THAT(values_of(DataType::f32, Family::uniform),
              testing::Each(testing::AllOf(testing::Ge(0.0), testing::Le(1.0))));
  std::set<bool> finite;
  for (const double value : values_of(DataType::f32, Family::nonfinite)) finite.insert(std::isfinite(value));
  EXPECT_EQ(finite.size(), 2U);
  for (const double value : values_of(DataType::f32, Family::denormal))
    EXPECT_LT(std::abs(value), 1.1754943508222875e-38);
  for (const double value : values_of(DataType::i64, Family::normal)) EXPECT_TRUE(value >= 0 && value < 256);
  EXPECT_THROW(family_of("odd"), UsageError);
}

// Below: errors beside the reference's.

const std::vector<OutputDescription> kOutput = {{DataType::f32, {4, 256}}};

Numbers plain(double scale = 1.0) {
  Numbers numbers(1);
  for (std::size_t i = 0; i < 1024; ++i) numbers[0].push_back(scale * std::sin(static_cast<double>(i) + 1.0));
  return numbers;
}

TEST(CorrectnessTest, TwiceTheReferencesErrorIsAllowed) {
  const Numbers truth = plain();
  const Numbers reference = plain(1.001), as_bad = plain(1.0019), worse = plain(1.003);
  EXPECT_FALSE(find_wrong(kOutput, as_bad, reference, truth, NotFinite::must_agree));
  EXPECT_TRUE(find_wrong(kOutput, worse, reference, truth, NotFinite::must_agree));
  EXPECT_TRUE(find_wrong(kOutput, as_bad, truth, truth, NotFinite::must_agree));
}

TEST(CorrectnessTest, OneWrongElementAndOneWrongBlockAreFound) {
  const Numbers truth = plain();
  Numbers element = truth;
  element[0][300] += 1e-3;
  const auto wrong = find_wrong(kOutput, element, truth, truth, NotFinite::must_agree);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->element, 300U);
  EXPECT_NEAR(wrong->given - wrong->expected, 1e-3, 1e-9);
  Numbers block = truth;
  for (std::size_t i = 0; i < 256; ++i) block[0][i] *= 1.0 + 1.5e-5;
  EXPECT_TRUE(find_wrong(kOutput, block, truth, truth, NotFinite::must_agree));
}

// Long enough for several threads, whose blocks do not divide it evenly.
TEST(CorrectnessTest, TheWorstElementOfALongOutputIsFoundAndTheFirstThatIsNotFinite) {
  constexpr std::size_t kRows = 1021, kColumns = 1031, kWorst = 700'001;
  const std::vector<OutputDescription> output = {{DataType::f32, {kRows, kColumns}}};
  const Numbers truth(1, std::vector<double>(kRows * kColumns, 1.0));
  Numbers given = truth;
  given[0][5] = 1.5;
  given[0][kWorst] = 3.0;
  given[0][kRows * kColumns - 1] = -0.5;
  const auto worst = find_wrong(output, given, truth, truth, NotFinite::must_agree);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->element, kWorst);
  given[0][kWorst - 1] = given[0][400'000] = std::nan("");
  EXPECT_EQ(find_wrong(output, given, truth, truth, NotFinite::must_agree)->element, 400'000U);
}

TEST(CorrectnessTest, NaNIsWrongUnlessTheReferenceHasIt) {
  const Numbers truth = plain();
  Numbers with_nan = truth;
  with_nan[0][7] = std::nan("");
  EXPECT_TRUE(find_wrong(kOutput, with_nan, truth, truth, NotFinite::must_agree));
  EXPECT_FALSE(find_wrong(kOutput, with_nan, with_nan, with_nan, NotFinite::must_agree));
  EXPECT_FALSE(find_wrong(kOutput, with_nan, truth, truth, NotFinite::may_differ));
}

TEST(CorrectnessTest, IntegersMustBeEqual) {
  const std::vector<OutputDescription> output = {{DataType::i64, {3}}};
  EXPECT_FALSE(find_wrong(output, {{1, 2, 3}}, {{1, 2, 3}}, {{1, 2, 3}}, NotFinite::must_agree));
  EXPECT_TRUE(find_wrong(output, {{1, 2, 4}}, {{1, 2, 3}}, {{1, 2, 3}}, NotFinite::must_agree));
}

}  // namespace
}  // namespace jitterscope::judging
