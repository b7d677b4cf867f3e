#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/list_table.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

constexpr double kGiga = 1e9, kMega = 1e6;

std::string three_digits(double value) { return fmt::format("{:.3g}", value); }
double flops_of(const Layer& layer) { return layer.operation.flops(); }
double bytes_of(const Layer& layer) { return static_cast<double>(layer.operation.bytes().value()); }

// A layer that a model runs sixteen times would make the line unreadable; the JSON has all names.
std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= 2) return names.size() == 1 ? names[0] : fmt::format("{}, {}", names[0], names[1]);
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

struct Total {
  std::int64_t layers = 0;
  double flops = 0.0, bytes = 0.0;
};

Total total_of(const Model& model) {
  Total total;
  for (const Layer& layer : model.layers) {
    total.layers += layer.count();
    total.flops += flops_of(layer) * static_cast<double>(layer.count());
    total.bytes += bytes_of(layer) * static_cast<double>(layer.count());
  }
  return total;
}

}  // namespace

std::string model_text(const Model& model, std::size_t width) {
  TableColumn numbers{"#", Align::right, {}}, counts{"count", Align::right, {}},
      operations{"operation", Align::left, {}}, flops{"GFLOP", Align::right, {}},
      bytes{"MB", Align::right, {}}, names{"layers", Align::left, {}};
  for (const Layer& layer : model.layers) {
    numbers.cells.push_back(std::to_string(numbers.cells.size() + 1));
    counts.cells.push_back(std::to_string(layer.count()));
    operations.cells.push_back(layer.operation.text());
    flops.cells.push_back(three_digits(flops_of(layer) / kGiga));
    bytes.cells.push_back(three_digits(bytes_of(layer) / kMega));
    names.cells.push_back(names_text(layer.names));
  }
  names.spare = 1;
  const Total total = total_of(model);
  std::string heading = fmt::format("**{}**: {}", one_line(model.name), one_line(model.description));
  if (!heading.ends_with('.')) heading += '.';
  if (!model.recorded_device.empty())
    heading += fmt::format(" Recorded on {}.", one_line(model.recorded_device));
  if (!model.recorded_cudnn.empty()) heading += fmt::format(" cuDNN {}.", one_line(model.recorded_cudnn));
  std::string text = wrapped(heading, width);
  text += wrapped(
      fmt::format("{}, {}; together {:.4g} GFLOP and at least {:.4g} MB moved. "
                  "GFLOP and MB are of one launch.",
                  counted(total.layers, "layer"), counted(std::ssize(model.layers), "different operation"),
                  total.flops / kGiga, total.bytes / kMega),
      width);
  const std::vector<TableColumn> columns = {numbers, counts, operations, flops, bytes, names};
  text += '\n' + fitted_table(columns, width);
  if (table_width(columns) > width) text += "\nAll of it: --json -, or a wider terminal (COLUMNS=180).\n";
  const std::string untimed = untimed_text(model.untimed, model.recorded_gpu_time, width);
  if (!untimed.empty()) text += '\n' + untimed;
  for (const std::string& note : model.notes) text += '\n' + wrapped(one_line(note), width);
  return text;
}

}  // namespace jitterscope
