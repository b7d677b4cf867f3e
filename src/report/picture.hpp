// A plot as a picture, drawn without a browser.
#pragma once

#include <string>
#include <vector>

#include "report/plot.hpp"

namespace jitterscope {

enum class PictureFormat { png, svg };
/// By how the file's name ends. Throws UsageError for another ending.
PictureFormat picture_format(const std::string& file);

/// The first of `pythons` (programs' names or paths) that has the package vl-convert. Throws MissingError,
/// with what to install, where none has.
std::string python_that_draws(const std::vector<std::string>& pythons);
/// By vl-convert, a package of `python`. Throws FailedError where it fails.
std::string draw_picture(const Plot& plot, PictureFormat format, const std::string& python);

}  // namespace jitterscope
