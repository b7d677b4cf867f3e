#pragma once

#include <cstdlib>
#include <string>

#include "commands/capture/details.hpp"
#include "commands/capture/record.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "timeline/analysis.hpp"

namespace jitterscope {

/// Whatever a file says, all of `capture show` can be made of it: numbers are finite, shares are shares, and
/// the record reads back as it was written.
inline void check_timeline(const timeline::Timeline& timeline) {
  const timeline::Analysis analysis = timeline::analyse(timeline, {});
  const CaptureRecord record = make_capture_record(timeline, analysis);
  const auto is_share = [](double share) { return share >= 0.0 && share <= 1.0 + 1e-9; };
  for (const CaptureDevice& device : record.devices) {
    double sum = 0.0;
    for (const CaptureWork& work : device.work) {
      if (!is_share(work.share) || !(work.p5 <= work.median && work.median <= work.p95)) std::abort();
      sum += work.share;
      for (const CaptureCause& cause : work.follows) {
        if (!is_share(cause.share) || !(cause.effect > -1.0)) std::abort();
      }
    }
    if (!is_share(sum) || !is_share(device.busy)) std::abort();
    for (const CaptureStepKind& kind : device.steps) {
      if (kind.count > 0 && !(kind.low <= kind.median && kind.median <= kind.high)) std::abort();
    }
  }
  const std::string text = write_record(record);
  CaptureRecord again;
  read_fields(parse_document(text, "written.json"), "written.json", again);
  if (write_record(again) != text) std::abort();
  record_text(record, {});
  record_text(record, {.width = 60, .details = true});
  report::plots_of(record);
  timeline::recorded_use(timeline);
  if (record.devices.empty()) return;
  capture_kernels_text(timeline, analysis, "", {});
  if (!record.devices.front().steps.empty()) capture_step_text(timeline, analysis, {}, {});
}

}  // namespace jitterscope
