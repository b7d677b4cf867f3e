#include "cli/judge_service.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "judge/line_server.hpp"
#include "judge/untrusted_process.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

using Message = nlohmann::json;

// A client asks: {"id": 7, "candidates": ["/path/fast.py", {"name": "step 12", "source": "…"}]}. All
// else is the server's own: reference, cases, pairs, margin and limits.
class Requested {
 public:
  Requested(const Message& asked, const TemporaryFolder& folder) {
    constexpr std::size_t kMost = 16;
    if (!asked.is_object()) throw UsageError("a request is an object of JSON: {\"candidates\": […]}");
    for (const auto& [key, value] : asked.items()) {
      if (key != "id" && key != "candidates") {
        throw UsageError(fmt::format("a request has id and candidates, and no '{}'", key.substr(0, 40)));
      }
    }
    const auto found = asked.find("candidates");
    if (found == asked.end() || !found->is_array() || found->empty() || found->size() > kMost) {
      throw UsageError(
          fmt::format("candidates is a list of 1 to {}: paths, or {{\"source\": …, \"name\": …}}", kMost));
    }
    for (const Message& each : *found) candidates_.push_back(candidate_of(each, folder));
  }
  ~Requested() {
    std::error_code ignored;
    for (const std::filesystem::path& file : files_) std::filesystem::remove(file, ignored);
  }
  Requested(const Requested&) = delete;
  Requested& operator=(const Requested&) = delete;

  const std::vector<NamedCandidate>& candidates() const { return candidates_; }

 private:
  NamedCandidate candidate_of(const Message& each, const TemporaryFolder& folder) {
    if (each.is_string()) return {each.get<std::string>(), full_target(each.get<std::string>())};
    constexpr std::size_t kLongestSource = std::size_t{1} << 20;
    const auto source = each.is_object() ? each.find("source") : each.end();
    if (source == each.end() || !source->is_string() ||
        source->get_ref<const std::string&>().size() > kLongestSource) {
      throw UsageError("a candidate is a path, or {\"source\": text of at most 1 MiB, \"name\": …}");
    }
    const auto name = each.find("name");
    const std::string number = std::to_string(candidates_.size() + 1);
    files_.push_back(folder.path() / ("candidate_" + number + ".py"));
    std::ofstream file(files_.back(), std::ios::binary);
    file << source->get_ref<const std::string&>();
    if (!file.flush())
      throw FailedError("the candidate's source could not be written to " + folder.path().string());
    return {name != each.end() && name->is_string() ? name->get<std::string>().substr(0, 200)
                                                    : "candidate " + number,
            files_.back().string()};
  }

  std::vector<NamedCandidate> candidates_;
  std::vector<std::filesystem::path> files_;
};

std::string refusal(const Message& id, const Error& error) {
  Message reply{{"error", error.what()}, {"exit_code", static_cast<int>(error.exit_code())}};
  if (!id.is_null()) reply["id"] = id;
  return reply.dump(-1, ' ', false, Message::error_handler_t::replace);
}

}  // namespace

void serve_judge(const JudgeFlags& flags, JudgeSetup& setup) {
  judging::LineServer server(flags.serve);
  constexpr std::int64_t kMostReady = 4;
  judging::ReadyWorkers workers(setup.program(), setup.reference(), setup.request().cases.front(),
                                2 * static_cast<std::size_t>(std::min(kMostReady, setup.request().pairs)),
                                setup.fork_server());
  setup.try_reference([&] { return workers.take(); });
  const TemporaryFolder folder;
  ProgressLine line(stderr, host_time_now);
  std::fprintf(stderr, "jitterscope: judges on %s, until Ctrl-C\n", flags.serve.c_str());
  const auto answer = [&](const std::string& text) {
    const Message asked = Message::parse(text, nullptr, false);
    const Message id =
        asked.is_object() && asked.contains("id") && (asked["id"].is_string() || asked["id"].is_number())
            ? asked["id"]
            : Message();
    try {
      const Requested requested(asked, folder);
      workers.refill();  // a request that came at once found no time for it
      workers.settle();
      const JudgeRecord record = setup.judge(
          requested.candidates(), [&] { return workers.take(); },
          [&](const std::string& what) {
            line.show(what, {1, 1});
          });
      line.clear();
      Message reply{{"record", Message::parse(write_record(record))}};
      if (!id.is_null()) reply["id"] = id;
      return reply.dump();
    } catch (const InterruptedError& error) {
      return refusal(id, error);
    } catch (const Error& error) {
      line.clear();
      return refusal(id, error);
    }
  };
  server.serve(
      answer, [&] { workers.refill(); }, is_interrupted);
}

}  // namespace jitterscope::cli
