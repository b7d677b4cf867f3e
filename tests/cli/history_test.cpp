// `run --save`, and `history`.
#include <gmock/gmock.h>

#include <fstream>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Histories : public test::WithFolder {
 protected:
  Outcome saved(const std::string& name, const std::string& more = "") const {
    return run_tool("run spin:ns=10000 --save " + name + at() + test::kQuick + " --processes 2 " + more);
  }
  std::string at() const { return " --history '" + path("h") + "'"; }
  Outcome history(const std::string& arguments) const { return run_tool("history " + arguments + at()); }
};

TEST_F(Histories, AreListedShownAndRemoved) {
  const Outcome first = saved("main");
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("saved as main/20"));
  EXPECT_EQ(saved("main", "--seed 2").exit_code, 0);
  EXPECT_EQ(saved("branch").exit_code, 0);
  EXPECT_THAT(history("list").output,
              AllOf(HasSubstr("| branch |       1 |"), HasSubstr("| main   |       2 |")));
  EXPECT_THAT(history("list main").output, AllOf(HasSubstr("| spin:ns=10000 |"), HasSubstr("10.")));
  // A record is called as it is listed: the moment is enough where it is the only one of it.
  const std::string list = history("list main").output;
  const std::size_t name = list.find("| 20") + 2;
  const std::string listed = list.substr(name, list.find(' ', name) - name);
  EXPECT_EQ(history("show main/" + listed).exit_code, 0) << listed;
  EXPECT_EQ(run_tool("run resnet18:direction=fprop --only layer1 --save net" + at() + test::kQuick +
                     " --processes 2")
                .exit_code,
            0);
  EXPECT_THAT(history("list net").output, Not(HasSubstr("more"))) << "a network has a total";
  EXPECT_EQ(history("rm net --all").exit_code, 0);
  EXPECT_THAT(history("show main").output, HasSubstr("**spin:ns=10000**"));
  EXPECT_EQ(history("rm main").exit_code, 2);
  EXPECT_THAT(history("rm main").errors, HasSubstr("main has 2 records"));
  EXPECT_EQ(history("rm main --all branch --all").exit_code, 0);
  EXPECT_THAT(history("list").output, HasSubstr("has no records. "));
}

TEST_F(Histories, AreNotMadeBeforeTheyCanBe) {
  EXPECT_EQ(saved("a/b").exit_code, 2);
  EXPECT_THAT(saved("a/b").errors, HasSubstr("as 'a-b'"));
  std::ofstream(path("h")) << "a file";
  const Outcome blocked = saved("main");
  EXPECT_EQ(blocked.exit_code, 2);
  EXPECT_EQ(blocked.output, "");
  EXPECT_THAT(blocked.errors, HasSubstr("name another folder by --history"));
  EXPECT_EQ(run_tool("run spin:ns=10000 --save x --continue y" + test::kQuick).exit_code, 2);
}

// Nobody, root neither, makes a folder in /proc.
TEST_F(Histories, AReadOnlyFolderIsSaidBeforeAnythingIsMeasured) {
  const Outcome blocked = run_tool("run spin:ns=10000 --save main --history /proc/history --json '" + path() +
                                   "'" + test::kQuick);
  EXPECT_EQ(blocked.exit_code, 2);
  EXPECT_EQ(blocked.output, "");
  EXPECT_THAT(blocked.errors, AllOf(HasSubstr("no record can be saved in '/proc/history/main'"),
                                    HasSubstr("name another folder by --history")));
}

TEST_F(Histories, EightProcessesMakeABaseline) {
  const Outcome outcome = run_tool("run spin:ns=10000 --save main" + at() + test::kQuick);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("8 processes"));
}

TEST_F(Histories, ADamagedRecordIsListedAndLeftOut) {
  saved("main");
  std::ofstream(path("h/main/20990101T000000Z-00000000.json")) << "{\"format\"";
  EXPECT_THAT(history("list main").output, HasSubstr("cannot be read"));
  EXPECT_THAT(history("show main").errors, HasSubstr("history rm main/20990101T000000Z-00000000"));
  const Outcome plotted = history("plot main -o '" + path("p.html") + "'");
  EXPECT_EQ(plotted.exit_code, 0) << plotted.errors;
  EXPECT_THAT(plotted.errors, HasSubstr("left out: "));
}

TEST_F(Histories, ArePlotted) {
  saved("main");
  saved("main", "--seed 2");
  const Outcome page = history("plot main -o -");
  if (page.exit_code == 3) GTEST_SKIP() << page.errors;
  EXPECT_EQ(page.exit_code, 0) << page.errors;
  EXPECT_THAT(page.output, AllOf(HasSubstr("<h1>main, the newest record: one launch of spin:"),
                                 HasSubstr("\"history-1\"")));
  EXPECT_EQ(history("plot main").exit_code, 2);
  EXPECT_THAT(history("plot").errors, HasSubstr("for example jitterscope history plot main -o main.html"));
  EXPECT_THAT(history("").errors, HasSubstr("list, show, plot, rm"));
}

}  // namespace
}  // namespace jitterscope
