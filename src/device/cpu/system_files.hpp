// Small readings of /proc, /sys and control groups.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace jitterscope::cpu {

/// First line without its end; nothing where the file cannot be read.
std::optional<std::string> read_line(const std::filesystem::path& file);
std::optional<double> read_number(const std::filesystem::path& file);
/// "key : value" or "key: value" lines, as in cpuinfo and meminfo; the first of each key.
std::map<std::string, std::string> read_pairs(const std::filesystem::path& file);
/// The control group's folder of one controller and all its parents, innermost first. Version 2 has one
/// tree for all controllers; version 1 has one each.
std::vector<std::filesystem::path> control_group_folders(const std::filesystem::path& root,
                                                         const std::string& controller);

}  // namespace jitterscope::cpu
