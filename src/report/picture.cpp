#include "report/picture.hpp"

#include <fmt/format.h>

#include <sstream>

#include "base/names.hpp"
#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"
#include "output/display_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {
namespace {

// White behind it: a picture is shown on pages of any colour.
constexpr const char* kScript = R"(
import json, sys, vl_convert
spec = json.load(sys.stdin)
spec["background"] = "white"
spec.pop("$schema")
spec["padding"] = {"left": 12, "top": 12, "right": 24, "bottom": 12}
if sys.argv[1] == "png":
    sys.stdout.buffer.write(vl_convert.vegalite_to_png(json.dumps(spec), vl_version="6.4", scale=2))
else:
    sys.stdout.write(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version="6.4"))
)";

// An operation's name may be as long as the picture is wide.
Json title_lines(const std::string& title) {
  constexpr std::size_t kLetters = 105;
  Json lines = Json::array();
  std::istringstream text(wrapped(title, kLetters));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

PictureFormat picture_format(const std::string& file) {
  if (file.ends_with(".png")) return PictureFormat::png;
  if (file.ends_with(".svg")) return PictureFormat::svg;
  throw UsageError(fmt::format("--plot {}: a picture's name ends in .png or .svg", file));
}

std::string python_that_draws(const std::vector<std::string>& pythons) {
  for (const std::string& python : pythons) {
    if (run_subprocess({"/usr/bin/env", python, "-c", "import vl_convert"}, {}).exit_code == 0) return python;
  }
  throw MissingError(fmt::format(
      "--plot needs vl-convert, which draws pictures, and no Python has it ({}): run scripts/setup plots in the "
      "source tree, or {} -m pip install vl-convert-python, or name a Python that has it by $JITTERSCOPE_PYTHON; "
      "--html needs nothing",
      joined(pythons), pythons.front()));
}

std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python) {
  const std::string word = format == PictureFormat::png ? "png" : "svg";
  SubprocessLimits limits;
  Json spec = plot.spec;
  spec["title"] = {{"text", title_lines(plot.title)},
                   {"anchor", "start"},
                   {"frame", "bounds"},
                   {"offset", 14},
                   {"limit", report::kPlotWidth}};
  limits.input = spec.dump(-1, ' ', false, Json::error_handler_t::replace);
  const SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", python, "-c", kScript, word}, limits);
  if (outcome.exit_code != 0 || outcome.output.empty()) {
    throw FailedError(fmt::format("the picture could not be drawn: {}", outcome.errors));
  }
  return outcome.output;
}

}  // namespace jitterscope
