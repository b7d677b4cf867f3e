#include "report/page_files.hpp"

namespace jitterscope::report {
namespace {

constexpr std::string_view kStyleSheet =
#include "page.css.inc"
    ;
constexpr std::string_view kDrawingScript =
#include "page.js.inc"
    ;

}  // namespace

std::string_view style_sheet() { return kStyleSheet; }
std::string_view drawing_script() { return kDrawingScript; }

}  // namespace jitterscope::report
