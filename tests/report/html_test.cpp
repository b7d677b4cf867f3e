#include "report/page.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const AnyRecord& record) {
  const ReportSection section = report_section(record);
  return html_report({&section, 1}, "/* vega */");
}

TEST(HtmlReport, ShowsTheTableAndThePlots) {
  const std::string page = page_of(test::sample_operation());
  EXPECT_THAT(page, HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("NVIDIA H200, 2026-01-02T03:04:05Z, jitterscope 0.1.0"));
  EXPECT_THAT(page, HasSubstr("<h2>Distribution of times"));
  EXPECT_THAT(page, HasSubstr("/* vega */"));
  EXPECT_THAT(page, HasSubstr("180 µs")) << "what the command line prints";
}

TEST(HtmlReport, NothingOfARecordIsCode) {
  RunRecord record = test::sample_operation();
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
  record.title = evil;
  record.environment.command_line = evil;
  record.device.name = evil;
  record.notes = {evil};
  record.entries[0].result.subject = Callable{evil};
  record.entries[0].result.findings = {{evil, evil, evil, {}, evil}};
  const std::string page = page_of(record);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("</script><")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;"));
}

std::string box_of(const std::string& text) {
  const ReportSection section{"doctor", "here", text, {}};
  const std::string page = html_report({&section, 1}, "");
  const std::size_t begin = page.find("<pre>") + 5;
  return page.substr(begin, page.find("</pre>") - begin);
}

TEST(HtmlReport, TheBoxShowsMarkdownAsItIsMeant) {
  EXPECT_EQ(box_of("**a <b>**: c\n"), "<strong>a &lt;b&gt;</strong>: c\n");
  EXPECT_EQ(box_of("**a long\nname** is\n\nb\n"), "<strong>a long\nname</strong> is\n\nb\n")
      << "over the end of a line";
  EXPECT_EQ(box_of("f(float**) alone\n"), "f(float**) alone\n") << "a name's own";
  EXPECT_EQ(box_of("| a \\| b | c |\n"), "| a | b  | c |\n") << "as wide as the other rows";
  EXPECT_EQ(box_of("|   a \\\\ b |\n"), "|    a \\ b |\n") << "to the right";
  EXPECT_EQ(box_of("| **missed** | f(int**, int**) |\n"),
            "| <strong>missed</strong>     | f(int**, int**) |\n");
  EXPECT_EQ(box_of("a \\| b"), "a \\| b") << "only tables escape bars";
  EXPECT_EQ(box_of("|"), "|");
  EXPECT_EQ(box_of("| \\"), "| \\");
  EXPECT_EQ(box_of(""), "");
}

TEST(HtmlReport, BoldOfARecordIsNoCode) {
  const std::string evil = "**<img src=x>** \\|<script>alert(1)</script>**";
  for (const std::string& text : {evil, "| " + evil + " |", "| **" + evil + "** |"}) {
    EXPECT_THAT(box_of(text), Not(HasSubstr("<img")));
    EXPECT_THAT(box_of(text), Not(HasSubstr("<script")));
  }
}

TEST(HtmlReport, TextThatIsNoUtf8DoesNotSpoilIt) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.subject = Callable{"a\xff\xfe"};
  EXPECT_THAT(page_of(record), HasSubstr("\xef\xbf\xbd"));
}

TEST(HtmlReport, WithoutPlotsNoScriptIsNeeded) {
  const ReportSection section{"doctor", "here", "all is well", {}};
  const std::string page = html_report({&section, 1}, "");
  EXPECT_THAT(page, HasSubstr("all is well"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(HtmlReport, APageAddsLittleToItsLibrary) {
  EXPECT_LT(page_of(test::sample_operation()).size(), 100'000u) << "of 1.5 MB the library has 0.9";
}

TEST(HtmlReport, TheProgramsFolderIsNoPartOfTheHeading) {
  RunRecord record = test::sample_operation();
  record.environment.command_line = "/opt/tools/jitterscope run a/b.json";
  EXPECT_EQ(report_section(record).heading, "jitterscope run a/b.json");
  record.environment.command_line = "jitterscope run /a/b.json";
  EXPECT_EQ(report_section(record).heading, "jitterscope run /a/b.json");
  record.environment.command_line = "jitterscope run x --html 'a b.html' --cache warm --json j.json";
  EXPECT_EQ(report_section(record).heading, "jitterscope run x --cache warm")
      << "files are not what was asked";
}

TEST(HtmlReport, LongTablesAreCut) {
  RunRecord record = test::sample_operation();
  std::vector<Round>& rounds = record.entries[0].result.measurements[0].rounds;
  rounds.assign(3'000, Round(rounds[0]));
  EXPECT_THAT(page_of(record), HasSubstr("2000 of "));
}

TEST(Picture, ItsNameSaysItsFormat) {
  EXPECT_EQ(picture_format("a.svg"), PictureFormat::svg);
  EXPECT_EQ(picture_format("a.b.png"), PictureFormat::png);
  EXPECT_THROW(picture_format("a.jpg"), UsageError);
  EXPECT_THROW(picture_format("png"), UsageError);
}

// `true` stands for a Python that has the package: it ends well whatever it is asked.
TEST(Picture, TheFirstPythonThatCanDrawIsTaken) {
  EXPECT_EQ(python_that_draws({"no-such-python", "false", "true", "python3"}), "true");
}

TEST(Picture, WithoutWhatDrawsItSaysWhatToInstall) {
  try {
    python_that_draws({"no-such-python", "false"});
    FAIL() << "there is none";
  } catch (const MissingError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no Python has it (no-such-python, false): run scripts/setup plots"));
    EXPECT_THAT(error.what(), HasSubstr("no-such-python -m pip install vl-convert-python"));
  }
}

}  // namespace
}  // namespace jitterscope
