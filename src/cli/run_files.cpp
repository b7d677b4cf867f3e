#include "cli/run_files.hpp"

#include "output/csv.hpp"
#include "output/run_table.hpp"
#include "output/standard_output.hpp"
#include "output/summary_csv.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {

RunFiles::RunFiles(const std::string& json, const RunFlags& flags)
    : takes_standard_output_(is_stdout(json) || is_stdout(flags.csv) || is_stdout(flags.csv_launches)),
      report_(flags.report) {
  if (!json.empty()) json_.emplace(json);
  if (!flags.csv.empty()) csv_.emplace(flags.csv);
  if (!flags.csv_launches.empty()) csv_launches_.emplace(flags.csv_launches);
}

std::optional<std::string> RunFiles::json_file() const {
  return json_ && !json_->is_stream() ? std::optional(json_->target()) : std::nullopt;
}

void RunFiles::write(const RunRecord& record, const Page& page) {
  if (!takes_standard_output_) print_result(run_table(record, page));
  if (json_) json_->commit(write_record(record));
  if (csv_) csv_->commit(run_summary_csv(record));
  if (csv_launches_) csv_launches_->commit(launches_csv(record));
  report_.write(record);
}

}  // namespace jitterscope::cli
