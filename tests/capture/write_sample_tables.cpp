// usage: write_sample_tables FOLDER
// Writes each table of a capture into FOLDER, and expected.json: table → column → values.
#include <fstream>

#include <nlohmann/json.hpp>

#include "capture/format/arrow_stream.hpp"
#include "capture/sample_tables.hpp"

using namespace jitterscope::capture;

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  nlohmann::ordered_json expected;
  int problem = 0;
  for_each_table([&]<class Table>(const Table&) {
    TableWriter<Table> writer(folder);
    Table whole;
    for (const std::size_t rows : {3, 1, 200}) {
      fill(whole, rows);
      describe(whole, [&]<class Whole>(const char* name, const std::vector<Whole>& column) {
        describe(writer.rows, [&]<class Part>(const char* own, std::vector<Part>& part) {
          if constexpr (std::is_same_v<Whole, Part>) {
            if (std::string(own) == name)
              part.assign(column.end() - static_cast<std::ptrdiff_t>(rows), column.end());
          }
        });
      });
      problem |= writer.write();
    }
    problem |= writer.finish();
    describe(whole, [&](const char* name, const auto& column) { expected[Table::kName][name] = column; });
  });
  std::ofstream(folder + "/expected.json") << expected;
  return problem == 0 ? 0 : 1;
}
