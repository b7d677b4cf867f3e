#include "worker/rank_devices.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/host.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"

namespace jitterscope {
namespace {

struct RankDevice {
  std::string host = {}, device = {}, uuid = {};
};

// The first line says what ranks wait for if one does not come.
constexpr std::string_view kTopic = "the comparison of their devices\n";

}  // namespace

template <class Fields>
void describe(Fields& fields, Described<Fields, RankDevice>& device) {
  for (const char* key : {"host", "device"}) fields.require(key);  // what is empty is not written
  fields("host", device.host);
  fields("device", device.device);
  fields("uuid", device.uuid);
}

namespace {

RankDevice device_in(std::string_view text) {
  if (!text.starts_with(kTopic))
    throw FailedError("another rank says nothing of its device; start all by one program");
  return read_value<RankDevice>(parse_document(text.substr(kTopic.size()), "device of a rank"),
                                "device of a rank");
}

}  // namespace

void require_device_of_its_own(Ranks& ranks, const DeviceDescription& device) {
  const RankDevice own{.host = host_name(), .device = device.id, .uuid = device.uuid};
  const std::vector<std::string> texts = ranks.exchange(std::string(kTopic) + write_value(own).dump());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (rank == static_cast<std::size_t>(ranks.rank())) continue;
    const RankDevice other = device_in(texts[rank]);
    if (own.uuid.empty() || other.uuid != own.uuid) continue;  // what is simulated has none
    throw UsageError(
        fmt::format("its GPU, {} ({}), is also that of rank {} ({}, {}); give each rank its own, as by srun "
                    "--gpus-per-task=1 or another CUDA_VISIBLE_DEVICES for each, or start fewer ranks",
                    own.uuid, own.device, rank, other.host, other.device));
  }
}

}  // namespace jitterscope
