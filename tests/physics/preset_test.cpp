#include "physics/preset.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "jitterscope/error.hpp"

namespace jitterscope::physics {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string problem(const std::string& text) {
  try {
    parse_preset(text, "mine.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Presets, AllThatAreShippedCanBeRead) {
  EXPECT_THAT(preset_names(),
              testing::IsSupersetOf({"a100", "h200", "hostile", "laptop", "quiet", "shared"}));
  for (const std::string& name : preset_names()) {
    const Parameters p = find_preset(name);
    EXPECT_FALSE(p.identity.data_types.empty()) << name;
    EXPECT_GT(p.product_f32.efficiency, 0) << name;
  }
}

TEST(Presets, KeysHaveTheirUnits) {
  const Parameters p = find_preset("h200");
  EXPECT_EQ(p.governor.maximum_clock, megahertz(1980));
  EXPECT_EQ(p.governor.control_period, milliseconds(5));
  EXPECT_EQ(p.thermal.time_slow, seconds(40));
  EXPECT_EQ(p.memory.l2_capacity, Bytes(62'900'000));
  EXPECT_EQ(p.memory.dram_bandwidth, 4.8e12);
  EXPECT_EQ(p.launch.host_median, microseconds(3));
  EXPECT_EQ(p.instruments.mark_grain, Nanoseconds(32));
  EXPECT_NEAR(p.power.energy_per_byte.value(), 30e-12, 1e-20);
  EXPECT_EQ(p.identity.data_types.size(), 5u);
}

TEST(Presets, ABaseGivesWhatAFileDoesNotSay) {
  const Parameters p = parse_preset("base = \"h200\"\n[power]\ncap_w = 500\n", "mine.toml");
  EXPECT_EQ(p.power.cap, Watts(500));
  EXPECT_EQ(p.power.idle, find_preset("h200").power.idle);
}

TEST(Presets, WithoutABaseNothingMayBeMissing) {
  EXPECT_THAT(problem(""),
              AllOf(HasSubstr("mine.toml"), HasSubstr("[identity] is missing"), HasSubstr("base =")));
  EXPECT_THAT(problem("\n\n[identity]\nname = \"x\"\n"),
              AllOf(HasSubstr("mine.toml:3"), HasSubstr("lacks processors"), HasSubstr("1 to 4096")));
}

struct Wrong {
  const char* text;
  const char* message;
};
class WrongPreset : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPreset, IsRefusedWithLineKeyAndReason) {
  EXPECT_THAT(problem(std::string("base = \"h200\"\n") + GetParam().text), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Presets, WrongPreset,
    testing::Values(
        Wrong{"[power]\ncap_w = -1", "mine.toml:3: [power] cap_w: expected a number of at least 0, not -1"},
        Wrong{"[power]\ncap_watt = 1", "mine.toml:3: [power] has no key 'cap_watt' (did you mean 'cap_w'?)"},
        Wrong{"[powr]\ncap_w = 1", "mine.toml:2: 'powr' is unknown (did you mean 'power'?)"},
        Wrong{"power = 3", "mine.toml:2: 'power' is 3, expected a table [power]"},
        Wrong{"[noise]\nspike_probability = 1.5",
              "mine.toml:3: [noise] spike_probability: expected a share between"},
        Wrong{"[noise]\nsd = nan", "[noise] sd: expected a share between 0 and 0.2, not nan"},
        Wrong{"[power]\ncap_w = \"700\"", "expected a number of at least 0, not \"700\""},
        Wrong{"[governor]\nidle_clock_mhz = 1995", "idle_clock_mhz is above maximum_clock_mhz"},
        Wrong{"[governor]\nidle_clock_mhz = 350", "must be multiples of step_mhz"},
        Wrong{"[governor]\ncontrol_period_ms = 0",
              "mine.toml:3: [governor] control_period_ms: expected a time"},
        Wrong{"[launch]\ngap_us = -0.5", "mine.toml:3: [launch] gap_us: expected a number of at least 0"},
        Wrong{"[identity]\nprocessors = 1.5", "expected a whole number from 1 to 4096, not 1.5"},
        Wrong{"[identity]\ndata_types = [\"f16\", \"fp16\"]",
              "mine.toml:3: [identity] data_types: expected a list of \"f64\", \"f32\", \"tf32\", \"f16\" "
              "and \"bf16\", or some of them, not \"fp16\""},
        Wrong{"[sensors]\npower = 1", "[sensors] power: expected true or false, not 1"},
        Wrong{"[compute]\nf64_flops_per_cycle = 0", "data_types names f64"},
        Wrong{"[noise]\ndrift = 0.1", "drift needs a positive drift_time_s"},
        Wrong{"[contention]\nmean_on_ms = 5", "mean_on_ms and mean_off_ms must be at least"},
        Wrong{"[power]\nvoltage_low_v = 2", "voltage_low_v is above voltage_high_v"},
        Wrong{"[power]\nleakage_per_celsius = 1", "heats itself"},
        Wrong{"[power\ncap_w = 1", "mine.toml:2: expected a table's name such as [power]"},
        Wrong{"[power]\ncap_w = = 1", "mine.toml:3: "}));

TEST(Presets, OnlyCommentsMayGoBeyondAscii) {
  EXPECT_EQ(problem("base = \"h200\"  # schön, \"µ\"\r\n# é\n"), "no error");
  EXPECT_THAT(problem("base = \"h200\"\nµ = 1\n"), HasSubstr("mine.toml:2: a character beyond ASCII"));
  EXPECT_THAT(problem("base = \"#µ\"\n"), HasSubstr("mine.toml:1: a character beyond ASCII"));
  EXPECT_THAT(problem("base = \"\"\"\n# \"\"\"\n"), HasSubstr("mine.toml:1: a text over several lines"));
}

TEST(Presets, ControlCharactersAreRefused) {
  EXPECT_THAT(problem(std::string("# 1\n[\0x]\n", 9)), HasSubstr("mine.toml:2: a control character"));
}

// toml++ 3.3 asserts here.
TEST(Presets, BracketsThatDoNotMatchAreRefused) {
  EXPECT_THAT(problem("base = \"h200\"\n[noise]\nsd = [0, [}]\n"), HasSubstr("this is no TOML"));
}

TEST(Presets, ABaseMustBeANameThatExists) {
  EXPECT_THAT(problem("base = 3"), HasSubstr("mine.toml:1: base: expected the name of a preset"));
  EXPECT_THAT(problem("base = \"h20\""), HasSubstr("there is no preset 'h20' (did you mean 'h200'?)"));
  EXPECT_THROW(find_preset("no_such/file.toml"), UsageError);
}

class PresetFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("jitterscope_presets_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

TEST_F(PresetFiles, AreFoundByPathAndBesideEachOther) {
  write("cool.toml", "base = \"h200\"\n[thermal]\nambient_celsius = 11\n");
  const auto file = write("cooler.toml", "base = \"cool\"\n[power]\nidle_w = 44\n");
  const Parameters p = find_preset(file.string());
  EXPECT_EQ(p.thermal.ambient, Celsius(11));
  EXPECT_EQ(p.power.idle, Watts(44));
}

TEST_F(PresetFiles, MayHaveTheNameOfTheirBase) {
  const auto file = write("h200.toml", "base = \"h200\"\n[power]\nidle_w = 44\n");
  EXPECT_EQ(read_preset(file).power.cap, Watts(700));
}

TEST_F(PresetFiles, CannotBeTheirOwnBase) {
  const auto a = write("a.toml", "base = \"b\"\n");
  write("b.toml", "base = \"./a.toml\"\n");
  try {
    read_preset(a);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot be its own base"), HasSubstr("b.toml")));
  }
}

TEST_F(PresetFiles, OfOnesOwnAreFoundByName) {
  write("my_gpu.toml", "base = \"h200\"\n[identity]\nname = \"mine\"\n");
  setenv("JITTERSCOPE_PRESETS", folder_.c_str(), 1);
  const Parameters p = find_preset("my_gpu");
  const std::vector<std::string> names = preset_names();
  unsetenv("JITTERSCOPE_PRESETS");
  EXPECT_EQ(p.identity.name, "mine");
  EXPECT_THAT(names, testing::Contains("my_gpu"));
}

}  // namespace
}  // namespace jitterscope::physics
