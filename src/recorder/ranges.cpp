#include "recorder/ranges.hpp"

#include <algorithm>

namespace jitterscope::recorder {
namespace {

// These are nvtxEventAttributes_t of NVTX 3 and the parameters of its functions that begin a range. NVTX's
// own headers do not come with every CUPTI.
struct Attributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;
};
constexpr std::int32_t kCharacters = 1, kRegistered = 3;
struct WithText {
  const char* text;
};
struct WithAttributes {
  const Attributes* attributes;
};
struct InDomain {
  void* domain;
  const void* value;
};

constexpr std::array kCalls = {
    CUPTI_CBID_NVTX_nvtxRangePushA,
    CUPTI_CBID_NVTX_nvtxRangeStartA,
    CUPTI_CBID_NVTX_nvtxRangePushEx,
    CUPTI_CBID_NVTX_nvtxRangeStartEx,
    CUPTI_CBID_NVTX_nvtxDomainRangePushEx,
    CUPTI_CBID_NVTX_nvtxDomainRangeStartEx,
    CUPTI_CBID_NVTX_nvtxDomainRegisterStringA,
};

}  // namespace

void RangeName::subscribe(const Cupti& cupti, CUpti_SubscriberHandle subscriber) const {
  for (const auto call : kCalls) cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_NVTX, call);
}

bool RangeName::is_named(const void* pointer) const noexcept {
  const auto* attributes = static_cast<const Attributes*>(pointer);
  if (attributes == nullptr || attributes->message == nullptr) return false;
  if (attributes->message_type == kCharacters) return is_it(static_cast<const char*>(attributes->message));
  return attributes->message_type == kRegistered &&
         std::any_of(registered_.begin(), registered_.end(), [&](const auto& registered) {
           return registered.load(std::memory_order_relaxed) == attributes->message;
         });
}

bool RangeName::begins(CUpti_CallbackId id, const CUpti_NvtxData& call) noexcept {
  const void* parameters = call.functionParams;
  if (parameters == nullptr) return false;
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePushA:
    case CUPTI_CBID_NVTX_nvtxRangeStartA: return is_it(static_cast<const WithText*>(parameters)->text);
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
    case CUPTI_CBID_NVTX_nvtxRangeStartEx:
      return is_named(static_cast<const WithAttributes*>(parameters)->attributes);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
    case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
      return is_named(static_cast<const InDomain*>(parameters)->value);
    case CUPTI_CBID_NVTX_nvtxDomainRegisterStringA:
      if (call.functionReturnValue != nullptr &&
          is_it(static_cast<const char*>(static_cast<const InDomain*>(parameters)->value))) {
        const std::size_t index = next_registered_.fetch_add(1, std::memory_order_relaxed);
        registered_[index % kMostDomains].store(*static_cast<const void* const*>(call.functionReturnValue),
                                                std::memory_order_relaxed);
      }
      return false;
    default: return false;
  }
}

}  // namespace jitterscope::recorder
