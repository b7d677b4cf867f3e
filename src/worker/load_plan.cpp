#include "worker/load_plan.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"
#include "worker/plan_format.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {

namespace explain {

constexpr auto enumerators(CompanionWork) {
  using enum CompanionWork;
  return std::array{kernels, memory, link};
}

}  // namespace explain

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadPlan>& plan) {
  fields.require("device");
  fields("device", plan.device);
  fields("parent", plan.parent);
  fields("seed", plan.seed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadOrder>& order) {
  fields("work", order.work);
  fields("duty", order.duty);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadAnswer>& answer) {
  fields.require("launches");
  fields("launches", answer.launches);
}

namespace {

constexpr std::string_view kLoadFormat = "jitterscope-load";
constexpr std::int64_t kLoadVersion = 1;

}  // namespace

std::string write_load_plan(const LoadPlan& plan) { return written_plan(kLoadFormat, kLoadVersion, plan); }

std::optional<LoadPlan> read_load_plan(std::string_view line) {
  const Json document = Json::parse(line, nullptr, false);
  if (!has_format(document, kLoadFormat)) return std::nullopt;
  if (document.value("version", Json()) != kLoadVersion) {
    throw UsageError("load: of another version: both processes must be one program");
  }
  return read_value<LoadPlan>(document, "load");
}

std::string write_load_order(const LoadOrder& order) { return write_value(order).dump(); }

LoadOrder read_load_order(std::string_view line) {
  auto order = read_value<LoadOrder>(parse_document(line, "order"), "order");
  if (!(order.duty > 0.0) || order.duty > 1.0)
    throw UsageError("order: duty is a share, above 0 and up to 1");
  return order;
}

std::string write_load_answer(const LoadAnswer& answer) { return write_value(answer).dump(); }

LoadAnswer read_load_answer(std::string_view line) {
  rethrow_written_error(line);
  return read_value<LoadAnswer>(parse_document(line, "answer"), "answer");
}

}  // namespace jitterscope
