// Settings files: where they are looked for, what they may say, and that flags lead.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;
using testing::HasSubstr;
using testing::Not;

const std::string kPlan = "run add:count=4 --dry-run --device cpu ";

class Settings : public testing::Test {
 protected:
  Settings() { fs::create_directories(folder_ / "config/jitterscope"); }
  ~Settings() override { fs::remove_all(folder_); }

  std::string write(const fs::path& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  /// In the folder, with `variables` as a shell would set them.
  Outcome run(const std::string& arguments, const std::string& variables = "") const {
    return test::run_tool("--version >/dev/null; cd '" + folder_.string() + "' && XDG_CONFIG_HOME='" +
                          (folder_ / "config").string() + "' COLUMNS=200 " + variables +
                          " '" JITTERSCOPE_EXECUTABLE "' " + arguments);
  }

  fs::path folder_ = fs::temp_directory_path() / ("jitterscope-settings-" + std::to_string(getpid()));
};

TEST_F(Settings, GiveFlagsThatTheCommandLineDoesNot) {
  const std::string file =
      write("mine.toml",
            "[run]\nprecision = 2\nmin-rounds = 17\ncache = [\"cold\"]\nkernels = true\nidle = [1, 2]\n"
            "time-limit = \"2s\"\n[doctor]\nno-measure = true\n");
  const Outcome plan = run(kPlan + "--settings " + file);
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_EQ(plan.errors, "");  // it was asked for
  for (const char* words : {"cache cold;", "±2 %", "at least 17 rounds", "Then the kernels of one launch."}) {
    EXPECT_THAT(plan.output, HasSubstr(words));
  }
}

TEST_F(Settings, OfTheCommandLineLead) {
  const std::string file = write("mine.toml", "[run]\nprecision = 2\nmin-rounds = 17\nfresh-data = true\n");
  const Outcome plan = run(kPlan + "--precision 3 --same-data --settings " + file);
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(plan.output, HasSubstr("±3 %, at least 17 rounds"));
  EXPECT_THAT(plan.output, Not(HasSubstr("fresh operands")));
  EXPECT_THAT(run(kPlan + "--settings " + file).output, HasSubstr("fresh operands"));
}

TEST_F(Settings, AreFoundInThisOrderAndSaidWhereNobodyNamedThem) {
  EXPECT_EQ(run(kPlan).errors, "");
  write("config/jitterscope/settings.toml", "[run]\nprecision = 4\n");
  EXPECT_THAT(run(kPlan).output, HasSubstr("±4 %"));
  EXPECT_THAT(run(kPlan).errors, HasSubstr("config/jitterscope/settings.toml\n"));
  EXPECT_THAT(run(kPlan, "XDG_CONFIG_HOME= HOME=/nonexistent").errors, "");
  write(".jitterscope.toml", "[run]\nprecision = 3\n");
  EXPECT_THAT(run(kPlan).output, HasSubstr("±3 %"));
  EXPECT_EQ(run(kPlan).errors, "jitterscope: settings of .jitterscope.toml\n");
  const std::string variable = "JITTERSCOPE_SETTINGS=" + write("variable.toml", "[run]\nprecision = 2\n");
  EXPECT_THAT(run(kPlan, variable).output, HasSubstr("±2 %"));
  const std::string option = " --settings " + write("option.toml", "[run]\nprecision = 1\n");
  EXPECT_THAT(run(kPlan + option, variable).output, HasSubstr("±1 %"));
  EXPECT_THAT(run(kPlan + " --settings ''").output, HasSubstr("±0.5 %"));
  EXPECT_THAT(run(kPlan, "JITTERSCOPE_SETTINGS=").output, HasSubstr("±0.5 %"));
}

TEST_F(Settings, StandInTheRecord) {
  write(".jitterscope.toml",
        "[run]\nload = \"burst\"\nmin-rounds = 3\ntime-limit = \"10ms\"\n[list]\nonly = \"x\"\n");
  const Outcome outcome = run("run spin:ns=1000 --device virtual:h200 --cache warm --no-ceilings --json -");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  EXPECT_THAT(json::parse(outcome.output).at("notes").dump(),
              HasSubstr("Settings of .jitterscope.toml: load = burst, min-rounds = 3, time-limit = 10ms."));
}

TEST_F(Settings, AreNamedByDoctorToo) {
  write(".jitterscope.toml", "[doctor]\nno-measure = true\n");
  const Outcome outcome = run("doctor --device cpu");
  EXPECT_EQ(outcome.errors, "jitterscope: settings of .jitterscope.toml\n");
  EXPECT_THAT(outcome.output, Not(HasSubstr("Noise floor")));
}

TEST_F(Settings, WhatIsWrongInThemIsNamedWithFileLineAndKey) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"[run]\n\nprecison = 1\n", "line 3: run has no setting 'precison' (did you mean 'precision'?)"},
      {"[run]\ntime_limit = 1\n", "line 2: run has no setting 'time_limit' (did you mean 'time-limit'?)"},
      {"[doctor]\nprecision = 1\n", "line 2: doctor has no setting 'precision'"},
      {"[rnu]\nprecision = 1\n", "line 1: there is no command 'rnu' (did you mean 'run'?)"},
      {"\nprecision = 1\n", "line 2: 'precision' is outside of a section"},
      {"[run]\nprecision = \"x\"\n", "line 2: --precision = x: write a number"},
      {"[run]\nprocesses = 1.5\n", "line 2: --processes: '1.5' is not a whole number"},
      {"[run]\ntime-limit = \"2x\"\n", "line 2: --time-limit: '2x' is not a duration"},
      {"[run]\nidle = [1, 2, 3]\n", "line 2: --idle"},
      {"[run]\nkernels = 1\n", "line 2: 'kernels' must be true or false"},
      {"[run]\nprecision = true\n", "line 2: 'precision' must be a number or a text"},
      {"[run]\nprecision = {a = 1}\n", "line 2: 'precision' must be a number, a text or a list"},
      {"[run]\nprecision 1\n", "line 2: not valid TOML"},
      {"[run]\nprecision = [}]\n", "not valid TOML"},
      {"[run\n", "line 1: not valid TOML"},
      {"[run]\nhelp = true\n", "line 2: run has no setting 'help'"},
  };
  for (const auto& [text, words] : kWrong) {
    const std::string file = write("wrong.toml", text);
    const Outcome outcome = run(kPlan + "--settings " + file);
    EXPECT_EQ(outcome.exit_code, 2) << text;
    EXPECT_EQ(outcome.output, "") << text;
    EXPECT_THAT(outcome.errors, testing::StartsWith("jitterscope: settings " + file + ": ")) << text;
    EXPECT_THAT(outcome.errors, HasSubstr(words)) << text;
  }
}

TEST_F(Settings, ThatCannotBeReadAreAnError) {
  const Outcome outcome = run(kPlan + "--settings nowhere.toml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors,
              HasSubstr("settings nowhere.toml: the file cannot be read (No such file or directory)"));
  EXPECT_THAT(run(kPlan, "JITTERSCOPE_SETTINGS=nowhere.toml").errors,
              HasSubstr("nowhere.toml: the file cannot be read"));
  EXPECT_THAT(run(kPlan + "--settings config").errors, HasSubstr("Is a directory"));
}

TEST_F(Settings, DoNotKeepHelpFromBeingShown) {
  write(".jitterscope.toml", "[run\n");
  EXPECT_EQ(run("run --help").exit_code, 0);
  EXPECT_EQ(run("--version").exit_code, 0);
  EXPECT_EQ(run("list models").exit_code, 2);
}

// Three rounds are no interval, so that no precision is reached.
TEST_F(Settings, APrecisionThatIsMissedIsAFailureOnlyWhereItWasAskedFor) {
  const std::string few =
      "run add:count=4 --device virtual:quiet --cache warm --no-ceilings --min-rounds 3 "
      "--time-limit 0.001 --details ";
  const Outcome by_default = run(few);
  EXPECT_EQ(by_default.exit_code, 0) << by_default.errors;
  EXPECT_THAT(by_default.output, HasSubstr("**imprecise**"));
  EXPECT_EQ(run(few + "--precision 0.5").exit_code, 4);
  write(".jitterscope.toml", "[run]\nprecision = 0.5\n");
  EXPECT_EQ(run(few).exit_code, 4);
}

}  // namespace
}  // namespace jitterscope
