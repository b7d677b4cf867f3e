// A worker whose lines are counted, so that a test can act at a place of its plan, however long it took to
// start.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "worker/partner.hpp"

namespace jitterscope::test {

/// Calls `after_telling` with the number of lines told so far: 1 after the plan, then one more for each
/// order.
class WatchedPartner final : public Partner {
 public:
  WatchedPartner(std::unique_ptr<Partner> partner, std::function<void(int told)> after_telling)
      : partner_(std::move(partner)), after_telling_(std::move(after_telling)) {}

  std::string name() const override { return partner_->name(); }
  std::int64_t parent() const override { return partner_->parent(); }
  void tell(std::string_view line) override {
    partner_->tell(line);
    after_telling_(++told_);
  }
  std::optional<std::string> hear(int milliseconds) override { return partner_->hear(milliseconds); }
  std::string phase() const override { return partner_->phase(); }

 private:
  std::unique_ptr<Partner> partner_;
  std::function<void(int told)> after_telling_;
  int told_ = 0;
};

}  // namespace jitterscope::test
