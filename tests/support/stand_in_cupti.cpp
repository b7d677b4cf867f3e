// A CUPTI without a GPU, libcupti.so.13: it calls back and gives records as it is told to.
#include "support/stand_in_cupti.hpp"

#include <array>
#include <cstring>
#include <set>
#include <vector>

namespace {

// Room for one record, of whatever kind.
constexpr std::size_t kSlot = 512;
using Slot = std::array<std::uint8_t, kSlot>;

CUpti_CallbackFunc callback = nullptr;
std::set<CUpti_CallbackDomain> domains;
std::vector<Slot> records;
CUpti_BuffersCallbackRequestFunc request_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc complete_buffer = nullptr;

}  // namespace

extern "C" {

void stand_in_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint32_t correlation,
                         const void* parameters) {
  if (callback == nullptr || !domains.contains(domain)) return;
  CUpti_CallbackData data{};
  data.functionParams = parameters;
  data.correlationId = correlation;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    callback(nullptr, domain, id, &data);
  }
}

void stand_in_cupti_add(const void* record, std::size_t size) {
  std::memcpy(records.emplace_back().data(), record, size);
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = 130000;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "what the stand-in says";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void*) {
  callback = function;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  callback = nullptr;
  domains.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  domains.insert(domain);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  request_buffer = request;
  complete_buffer = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t most_records = 0;
  request_buffer(&buffer, &size, &most_records);
  if (!records.empty()) std::memcpy(buffer, records.data(), records.size() * kSlot);
  complete_buffer(nullptr, 0, buffer, size, records.size() * kSlot);
  records.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* const next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + kSlot;
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

}  // extern "C"
