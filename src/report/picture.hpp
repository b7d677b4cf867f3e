// A plot as a picture, drawn without a browser.
#pragma once

#include <functional>
#include <string>

#include "report/plot.hpp"

namespace jitterscope {

enum class PictureFormat { png, svg };
/// By how the file's name ends. Throws UsageError for another ending.
PictureFormat picture_format(const std::string& file);

/// Throws MissingError, with what to install, where `python` (a program's name or path) has no vl-convert.
void require_pictures(const std::string& python);
/// By vl-convert, a package of `python`. Throws as above; FailedError where it fails.
std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python);

}  // namespace jitterscope
