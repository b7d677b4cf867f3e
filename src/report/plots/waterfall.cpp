#include "report/plots/waterfall.hpp"

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/estimate_text.hpp"
#include "output/ratio_text.hpp"

namespace jitterscope::report {
namespace {

constexpr int kLongestPart = 300, kRowHeight = 30;  // pixels
constexpr std::string_view kLevel = "measured", kSlower = "slower", kFaster = "faster", kRest = "rest";

Json kind_color() {
  return category(
      "kind", "",
      Json{{"title", nullptr},
           {"scale",
            {{"domain", {kLevel, kSlower, kFaster, kRest}}, {"range", {kBlue, kRed, kGreen, kGrey}}}}});
}

}  // namespace

void Waterfall::add_level(const std::string& name, const TimeEstimate& time) {
  const bool known = has_interval(time);
  rows_.push_back({name,
                   time.median,
                   time.median,
                   known ? time.low : time.median,
                   known ? time.high : time.median,
                   kLevel,
                   estimate_text(time),
                   time_text(time.median, time.precision()),
                   {}});
  reached_ = time.median;
}

void Waterfall::add_step(const std::string& name, const RatioEstimate& ratio, Nanoseconds end,
                         std::string_view kind, const std::string& source) {
  rows_.push_back({name, reached_, end, reached_ * ratio.low, reached_ * ratio.high, kind,
                   change_with_interval(ratio), change_text(ratio.ratio - 1.0), source});
  reached_ = end;
}

void Waterfall::add_part(const std::string& name, const RatioEstimate& ratio, const std::string& source) {
  add_step(name, ratio, reached_ * ratio.ratio, ratio.ratio > 1.0 ? kSlower : kFaster, source);
}

void Waterfall::add_rest(const RatioEstimate& ratio, Nanoseconds level) {
  add_step("rest", ratio, level, kRest, "what no part accounts for");
}

Json Waterfall::view() const {
  Json all = Json::array(), levels = Json::array(), parts = Json::array(), joints = Json::array();
  std::vector<std::string> names;
  for (const Row& row : rows_) names.push_back(name_apart(row.name, names));
  double least = unit_.of(rows_.front().end), most = least;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const double begin = unit_.of(row.begin), end = unit_.of(row.end), low = unit_.of(row.low),
                 high = unit_.of(row.high);
    least = std::min({least, begin, end, low});
    most = std::max({most, begin, end, high});
    const Json drawn{{"part", names[i]},    {"begin", begin},      {"end", end},
                     {"low", low},          {"high", high},        {"right", std::max({begin, end, high})},
                     {"kind", row.kind},    {"change", row.shown}, {"words", row.brief},
                     {"source", row.source}};
    all.push_back(drawn);
    (row.kind == kLevel ? levels : parts).push_back(drawn);
    if (i + 1 < rows_.size()) {
      joints.push_back(Json{{"part", names[i]}, {"next", names[i + 1]}, {"end", end}});
    }
  }
  // Room at the right for what stands beside the bars; not from zero, as levels are points.
  const double span = most > least ? most - least : most * 0.01;
  const Json scale{
      {"scale", {{"domain", {rounded(least - 0.04 * span), rounded(most + 0.24 * span)}}, {"nice", false}}}};
  const Json y = names_axis("part", names, kLongestPart);
  const std::string title = unit_.axis("time of one launch");
  const auto x = [&](std::string_view field) { return quantity(field, title, scale); };
  const Json tips = tooltip({{"part", "part"},
                             {"change", "change"},
                             {"end", "reached, " + unit_.name},
                             {"low", "interval from, " + unit_.name},
                             {"high", "to, " + unit_.name},
                             {"source", "by"}});
  Json joined{{"name", "joints"},
              {"data", data_of(joints)},
              {"mark", {{"type", "rule"}, {"color", kGrey}, {"strokeDash", {2, 3}}}},
              {"encoding", {{"y", y}, {"y2", {{"field", "next"}}}, {"x", x("end")}}}};
  Json bars{{"name", "parts"},
            {"data", data_of(parts)},
            {"mark", {{"type", "bar"}, {"height", 16}, {"opacity", 0.75}}},
            {"encoding",
             {{"y", y},
              {"x", x("begin")},
              {"x2", {{"field", "end"}}},
              {"color", kind_color()},
              {"tooltip", tips}}}};
  Json intervals{{"name", "intervals"},
                 {"data", data_of(all)},
                 {"mark", {{"type", "rule"}, {"size", 2}, {"color", kPurple}}},
                 {"encoding", {{"y", y}, {"x", x("low")}, {"x2", {{"field", "high"}}}, {"tooltip", tips}}}};
  Json points{{"name", "levels"},
              {"data", data_of(levels)},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 110}, {"opacity", 1}}},
              {"encoding", {{"y", y}, {"x", x("end")}, {"color", kind_color()}, {"tooltip", tips}}}};
  Json words{{"name", "changes"},
             {"data", data_of(all)},
             {"mark", {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"color", kGrey}, {"fontSize", 12}}},
             {"encoding", {{"y", y}, {"x", x("right")}, {"text", {{"field", "words"}}}}}};
  return Json{{"height", height_of(names, kRowHeight)}, {"layer", {joined, bars, intervals, points, words}}};
}

std::vector<TableColumn> Waterfall::table(std::string_view sources) const {
  TableColumn parts = text_column("part"), from = number_column(unit_.axis("from")),
              to = number_column(unit_.axis("to")), low = number_column("interval from"),
              high = number_column("to"), changes = number_column("change"),
              by = text_column(std::string(sources));
  for (const Row& row : rows_) {
    parts.cells.push_back(row.name);
    from.cells.push_back(row.kind == kLevel ? "" : cell(unit_.of(row.begin)));
    to.cells.push_back(cell(unit_.of(row.end)));
    low.cells.push_back(cell(unit_.of(row.low)));
    high.cells.push_back(cell(unit_.of(row.high)));
    changes.cells.push_back(row.kind == kLevel ? "" : row.shown);
    by.cells.push_back(row.source);
  }
  return {parts, from, to, low, high, changes, by};
}

}  // namespace jitterscope::report
