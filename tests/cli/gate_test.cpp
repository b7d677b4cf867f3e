// `gate`: what was saved, measured again.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Gates : public test::WithFolder {
 protected:
  std::string at() const { return " --history '" + path("h") + "'"; }
  void save(const std::string& operation, const std::string& name = "main",
            const std::string& more = "") const {
    const Outcome outcome =
        run_tool("run " + operation + " --save " + name + at() +
                 (more.find("--device") == std::string::npos ? " --device virtual:h200" : "") +
                 " --cache warm --load burst --time-limit 0.3 --no-ceilings " + more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  }
  // A baseline of one kernel that asks for another the next time: a change in the code, as a gate sees it.
  void change(const std::string& from, const std::string& to, const std::string& name = "main") const {
    for (const auto& file : std::filesystem::directory_iterator(path("h") + "/" + name)) {
      std::ifstream stream(file.path());
      json record = json::parse(stream);
      ASSERT_EQ(record.at("asked").at("targets").at(0), from);
      record["asked"]["targets"][0] = to;
      std::ofstream(file.path()) << record;
    }
  }
  Outcome gate(const std::string& arguments) const { return run_tool("gate " + arguments + at()); }
};

TEST_F(Gates, NothingChangedIsNoFailure) {
  save("add:count=1Mi");
  const Outcome outcome = gate("main");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::StartsWith("**As fast as main** within ± 2 %.\n"));
  EXPECT_THAT(on_one_line(outcome.output), AllOf(HasSubstr("against main/20"), HasSubstr("8 processes")));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("in cycles"), HasSubstr("| same ")));
}

TEST_F(Gates, ABaselineThatCannotRunHereDoesNotTakeTheOthersWithIt) {
  save("add:count=1Mi", "first");
  save("relu:count=1Mi", "second");
  change("relu:count=1Mi", "python:nothing.py:step", "second");
  ::setenv("JITTERSCOPE_PYTHON", "/no/python", 1);
  const Outcome both = gate("");
  EXPECT_EQ(both.exit_code, 3) << both.output;
  EXPECT_THAT(on_one_line(both.output),
              AllOf(HasSubstr("first"), HasSubstr("there is no Python /no/python")));
  const Outcome one = gate("second");
  ::unsetenv("JITTERSCOPE_PYTHON");
  EXPECT_EQ(one.exit_code, 3);
  EXPECT_THAT(one.errors, HasSubstr("there is no Python /no/python"));
}

TEST_F(Gates, ThreePercentMoreIsShown) {
  save("spin:ns=20000");
  change("spin:ns=20000", "spin:ns=20600");
  const Outcome outcome = gate("main");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("**Slower than main**"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("In brackets: 95 % intervals")));
  EXPECT_THAT(gate("main --details").output, HasSubstr("In brackets: 95 % intervals"));
  EXPECT_EQ(gate("main --margin 5%").exit_code, 0);
  EXPECT_THAT(gate("main --margin 5%").output, HasSubstr("As fast as main"));
}

TEST_F(Gates, UndecidedFailsAStrictGateAlone) {
  save("add:count=1Mi", "main", "--device virtual:hostile --processes 2");
  const Outcome outcome = gate("main --processes 2 --margin 0.1%");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("**Undecided against main**"));
  EXPECT_EQ(gate("main --processes 2 --margin 0.1% --strict").exit_code, 1);
}

TEST_F(Gates, AnotherDeviceIsSaidFirst) {
  save("add:count=1Mi");
  const Outcome outcome = gate("main --device virtual:a100");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, testing::StartsWith("Changed since main was measured"));
  EXPECT_THAT(outcome.output, HasSubstr("- device: virtual H200 (simulated), now virtual A100 (simulated)"));
}

TEST_F(Gates, WriteForOtherPrograms) {
  save("spin:ns=20000");
  change("spin:ns=20000", "spin:ns=21000");
  std::ofstream(path("summary.md")) << "before";
  const Outcome outcome = run_tool("--version >/dev/null; GITHUB_STEP_SUMMARY='" + path("summary.md") +
                                   "' '" JITTERSCOPE_EXECUTABLE "' gate main" + at() + " --junit '" +
                                   path("j.xml") + "' --json '" + path() + "' --markdown -");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.errors;
  EXPECT_THAT(outcome.output,
              AllOf(testing::StartsWith("## jitterscope gate\n\n"), HasSubstr("**Slower than main**")));
  EXPECT_EQ(text("summary.md"), "before\n" + outcome.output);
  EXPECT_THAT(text("j.xml"),
              AllOf(HasSubstr("tests=\"1\" failures=\"1\""), HasSubstr("<failure type=\"slower\"")));
  const json record = json::parse(text());
  EXPECT_EQ(test::validate_json(text()), 0);
  EXPECT_EQ(record.at("baseline").at("name"), "main");
  EXPECT_THAT(run_tool("show '" + path() + "'").output, HasSubstr("**Slower than main**"));
}

TEST_F(Gates, AllOfTheHistoryWhereNoneIsNamed) {
  save("spin:ns=20000", "a");
  save("spin:ns=30000", "b");
  const Outcome outcome = gate("");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("**As fast as a**"), HasSubstr("**As fast as b**")));
  EXPECT_THAT(gate("--json -").errors, HasSubstr("there are 2 baselines: name one"));
  EXPECT_THAT(gate("--dry-run").output, AllOf(HasSubstr("spin:ns=30000"), HasSubstr("8 fresh processes")));
}

TEST_F(Gates, WhatIsNotSlowerIsSavedWhereThatIsAsked) {
  save("spin:ns=20000");
  EXPECT_THAT(gate("main --save").errors, HasSubstr("saved as main/"));
  change("spin:ns=20000", "spin:ns=21000");
  EXPECT_THAT(gate("main --save").errors, HasSubstr("not saved as main"));
  EXPECT_THAT(run_tool("history list" + at()).output, HasSubstr("| main |       2 |"));
}

TEST_F(Gates, RefuseWhatCannotBeCompared) {
  EXPECT_EQ(gate("main").exit_code, 2);
  EXPECT_THAT(gate("").errors, HasSubstr("run … --save main` makes one"));
  save("spin:ns=20000");
  EXPECT_THAT(gate("mian").errors, HasSubstr("did you mean 'main'?"));
  EXPECT_THAT(gate("main --margin much").errors, HasSubstr("is not a percentage"));
  EXPECT_EQ(gate("main --processes 0").exit_code, 2);
  EXPECT_EQ(gate("main --device cuda:77").exit_code, 3);
  EXPECT_EQ(gate("main --junit /nowhere/j.xml").exit_code, 2);
  std::ofstream(path("h/main/20990101T000000Z-00000000.json"))
      << R"({"format": "jitterscope-record", "version": 99})";
  EXPECT_THAT(gate("main").errors, HasSubstr("this record has version 99"));
}

// One that is damaged keeps no other from being judged.
TEST_F(Gates, ADamagedRecordFailsAloneWhereAllAreGated) {
  save("spin:ns=20000", "a");
  save("spin:ns=20000", "b");
  std::ofstream(path("h/a/20990101T000000Z-00000000.json")) << R"({"format": "jitterscope-record", )";
  const Outcome all = gate("");
  EXPECT_EQ(all.exit_code, 5) << all.errors;
  EXPECT_THAT(on_one_line(all.output),
              AllOf(HasSubstr("**As fast as b** within"), HasSubstr("**Failed against a**"),
                    HasSubstr("history rm a/20990101T000000Z-00000000")));
  EXPECT_EQ(gate("a").exit_code, 2);
  EXPECT_THAT(run_tool("run spin:ns=20000 --device virtual:h200" + at()).errors,
              HasSubstr("--history is the folder for --save"));
}

// A file of layers may be gone, or an operation have another name in this version.
TEST_F(Gates, ABaselineThatCannotBeReadAgainFailsAloneWhereAllAreGated) {
  save("spin:ns=20000", "a");
  save("spin:ns=20000", "b");
  save("spin:ns=20000", "c");
  change("spin:ns=20000", path("gone.json"), "b");
  const Outcome all = gate("");
  EXPECT_EQ(all.exit_code, 5) << all.errors;
  EXPECT_THAT(on_one_line(all.output),
              AllOf(HasSubstr("**As fast as a** within"), HasSubstr("**Failed against b**"),
                    HasSubstr("cannot be measured again"), HasSubstr("**As fast as c** within")));
  EXPECT_EQ(gate("a b").exit_code, 2) << "before anything is measured";
}

TEST_F(Gates, ARecordOfAnEarlierVersionIsNoBaseline) {
  save("spin:ns=20000");
  for (const auto& file : std::filesystem::directory_iterator(path("h/main"))) {
    std::ifstream stream(file.path());
    json record = json::parse(stream);
    record.erase("asked");
    std::ofstream(file.path()) << record;
  }
  EXPECT_THAT(gate("main").errors, HasSubstr("does not say what to measure"));
}

TEST_F(Gates, AnInterruptionIsNoVerdict) {
  save("spin:ns=20000");
  const Outcome outcome = run_tool(
      "--version >/dev/null; timeout --preserve-status -s INT 0.2 '" JITTERSCOPE_EXECUTABLE "' gate main" +
      at() + " --processes 900");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output << outcome.errors;
}

}  // namespace
}  // namespace jitterscope
