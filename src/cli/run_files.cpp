#include "cli/run_files.hpp"

#include "cli/run_flags.hpp"
#include "output/csv.hpp"
#include "output/run_table.hpp"
#include "output/standard_output.hpp"
#include "output/summary_csv.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {

RunFiles::RunFiles(const std::string& json, const std::string& csv, const std::string& csv_launches)
    : takes_standard_output_(is_stdout(json) || is_stdout(csv) || is_stdout(csv_launches)) {
  if (!json.empty()) json_.emplace(json);
  if (!csv.empty()) csv_.emplace(csv);
  if (!csv_launches.empty()) csv_launches_.emplace(csv_launches);
}

std::optional<std::string> RunFiles::json_file() const {
  return json_ && !json_->is_stream() ? std::optional(json_->target()) : std::nullopt;
}

void RunFiles::write(const RunRecord& record, const Page& page) {
  if (!takes_standard_output_) print_result(run_table(record, page));
  if (json_) json_->commit(write_record(record));
  if (csv_) csv_->commit(run_summary_csv(record));
  if (csv_launches_) csv_launches_->commit(launches_csv(record));
}

}  // namespace jitterscope::cli
