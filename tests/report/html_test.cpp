#include "report/page.hpp"

#include <gmock/gmock.h>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "output/html.hpp"
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
  EXPECT_THAT(page, HasSubstr("<li>NVIDIA H200</li><li>2026-01-02T03:04:05Z</li><li>jitterscope 0.1.0</li>"));
  EXPECT_THAT(page, HasSubstr("<h2>Distribution of times"));
  EXPECT_THAT(page, HasSubstr("/* vega */"));
}

// Not the terminal's Markdown: a number, its conditions, and a table of the record's own rows.
TEST(HtmlReport, BeginsWithTheHeadlineItsConditionsAndATable) {
  const RunRecord record = test::sample_operation();
  const std::string page = page_of(record);
  const Headline headline = headline_of(record);
  EXPECT_EQ(headline.number, time_text(record.entries[0].result.measurements[0].time.median, 0.001));
  const std::vector<std::string> in_order = {
      "<h1>one launch of ",
      "<p class=\"headline\"><strong>" + headline.number + "</strong> ± 0.1 %</p>",
      "<ul class=\"marks\"><li>" + headline.marks.front() + "</li>",
      "<th>conditions</th><th class=\"number\">median</th>",
      "<tr><td>" + headline.marks.front() + "</td><td class=\"number\">180.0\u00a0µs ± 0.1\u00a0%</td>",
      "<summary>All that is known</summary>"};
  std::size_t reached = 0;
  for (const std::string& part : in_order) {
    const std::size_t at = page.find(part, reached);
    ASSERT_NE(at, std::string::npos) << part;
    reached = at;
  }
  EXPECT_THAT(page, Not(HasSubstr("| ---")));
  EXPECT_THAT(page, Not(HasSubstr("--details"))) << "a page has no flags";
}

TEST(HtmlReport, FindingsFoldTheirCausesAndRemedies) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.findings = {{"drift", "it grew by 3 %", "wait", {}, "it grew"}};
  EXPECT_THAT(page_of(record), HasSubstr("<ol><li><details><summary><strong>drift</strong>: it grew</summary>"
                                         "<p>it grew by 3 %</p><p>Remedy: wait</p></details></li>"));
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

TEST(HtmlText, BlocksBecomeElements) {
  EXPECT_EQ(html_of(wrapped("**a <b>**: `c`", 40)), "<p><strong>a &lt;b&gt;</strong>: <code>c</code></p>\n");
  EXPECT_EQ(html_of(wrapped("a", 40) + wrapped("b", 40) + '\n' + wrapped("c", 40)),
            "<p>a<br>\nb</p>\n<p>c</p>\n")
      << "an empty line ends a paragraph";
  EXPECT_EQ(html_of("Failed:\n\n" + list_item("a", 40) + list_item("b", 40)),
            "<p>Failed:</p>\n<ul><li>a</li>\n<li>b</li>\n</ul>\n");
  EXPECT_EQ(html_of(numbered_item(1, "a", 40, 3, {"more"})), "<ol><li>a<p>more</p></li>\n</ol>\n");
  EXPECT_EQ(html_of(status_item("ok", "a", 40, 11)),
            "<ul class=\"status\"><li><b class=\"mark ok\">ok</b> a</li>\n</ul>\n");
  EXPECT_EQ(html_of(Text("    x = 1\n")), "<pre>x = 1\n</pre>\n") << "code";
  EXPECT_EQ(html_of(Text()), "");
}

TEST(HtmlText, ATableHasAllColumnsAndNamesAreWhole) {
  const std::string name(60, 'n');
  const Text table =
      fitted_table({{"name", Align::left, {name, "**missed**"}}, {"more", Align::right, {"1", "2"}, 1}}, 30);
  EXPECT_THAT(table.lines(), Not(HasSubstr(name))) << "the terminal's lines are cut";
  EXPECT_EQ(
      html_of(table),
      "<div class=\"rows\"><table>\n<thead><tr><th class=\"name\">name</th><th class=\"number\">more</th></tr>\n"
      "</thead>\n<tbody>\n<tr><td class=\"name\">" +
          name +
          "</td><td class=\"number\">1</td></tr>\n<tr><td class=\"name\"><strong>missed</strong></td>"
          "<td class=\"number\">2</td></tr>\n</tbody></table></div>\n");
  const std::vector<TableColumn> keys = {{"#", Align::right, {"1"}}};
  const Text split = split_tables(keys, std::vector<TableColumn>(30, {"column", Align::left, {"a | b"}}), 40);
  EXPECT_EQ(std::string(split).find("a \\| b") != std::string::npos, true) << "only Markdown escapes bars";
  const std::string html = html_of(split);
  EXPECT_EQ(html.find("<table>"), html.rfind("<table>")) << "one table";
  EXPECT_THAT(html, HasSubstr("<td data-is=\"column\">a | b</td>"))
      << "too wide for a telephone, which stacks it";
}

// A telephone shows what a terminal as narrow would show, and says what it leaves out.
TEST(HtmlText, ANarrowScreenLeavesTheSparestColumnsOut) {
  const std::string time = "124.9 µs ± 0.15 %";
  const std::vector<TableColumn> columns = {{"operation", Align::left, {"add"}},
                                            {"warm", Align::right, {time}},
                                            {"cold", Align::right, {time}, 1},
                                            {"clock", Align::right, {"1704 MHz"}, 3},
                                            {"rate", Align::right, {"509 TFLOP/s"}, 2}};
  const std::string html = html_table(columns);
  EXPECT_THAT(html, HasSubstr("<th class=\"number\">cold</th><th class=\"number spare\">clock</th>"
                              "<th class=\"number\">rate</th>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"left-out\">A wider screen also shows: clock.</p>"));
  EXPECT_THAT(html, Not(HasSubstr("stacks")));
  EXPECT_THAT(html_table(std::span(columns).first(3)), Not(HasSubstr("spare")));
  EXPECT_THAT(html_of(split_tables({columns[0]}, std::span(columns).subspan(1), 40)), Not(HasSubstr("spare")))
      << "what continues in further lines is nowhere left out";
  // What was asked for does not leave, so that rows become lists, each number with its heading.
  std::vector<TableColumn> asked(8, {"in cycles", Align::right, {"1704 MHz"}});
  const std::string stacked = html_table(asked);
  EXPECT_THAT(stacked, HasSubstr("<div class=\"rows stacks\">"));
  EXPECT_THAT(stacked, HasSubstr("<td class=\"number\" data-is=\"in cycles\">1704\u00a0MHz</td>"));
  EXPECT_THAT(stacked, Not(HasSubstr("spare")));
}

TEST(HtmlText, NamesBreakBehindTheirParts) {
  EXPECT_EQ(breakable_html("conv2d:n=32,c=<b>, a_b layer1.1.conv2 3.5"),
            "conv2d:<wbr>n=32,<wbr>c=&lt;b&gt;, a_<wbr>b layer1.1.<wbr>conv2 3.5");
}

TEST(HtmlText, NothingOfARecordIsMarkup) {
  EXPECT_EQ(html_of(wrapped("f(float**) alone", 40)), "<p>f(float**) alone</p>\n") << "a name's own";
  const std::string evil = "**<img src=x>** \\|<script>alert(1)</script>** `<b>";
  for (const Text& text : {wrapped(evil, 200), Text(evil), list_item(evil, 200),
                           numbered_item(1, evil, 80, 3, {evil}), status_item(evil, evil, 80, 11, {evil}),
                           fitted_table({{evil, Align::left, {evil, "**" + evil + "**"}}}, 80)}) {
    const std::string html = html_of(text);
    EXPECT_THAT(html, Not(HasSubstr("<img")));
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("<b>")));
  }
}

TEST(HtmlReport, TextThatIsNoUtf8DoesNotSpoilIt) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.subject = Callable{"a\xff\xfe"};
  EXPECT_THAT(page_of(record), HasSubstr("\xef\xbf\xbd"));
}

TEST(HtmlReport, WithoutPlotsNoScriptIsNeeded) {
  const ReportSection section{"doctor", {}, "all is well", {}, {}};
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
  EXPECT_EQ(report_section(record).command, "jitterscope run a/b.json");
  record.environment.command_line = "jitterscope run /a/b.json";
  EXPECT_EQ(report_section(record).command, "jitterscope run /a/b.json");
  record.environment.command_line = "jitterscope run x --html 'a b.html' --cache warm --json j.json";
  EXPECT_EQ(report_section(record).command, "jitterscope run x --cache warm")
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
