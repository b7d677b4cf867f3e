#include "selftest/scenes.hpp"

#include "physics/preset.hpp"

namespace jitterscope::selftest {

Operation long_convolution() {
  return Operation::parse("conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc");
}
Operation large_product() { return Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=bf16"); }
Operation small_product() { return Operation::parse("matmul:m=512,n=512,k=512,dtype=bf16"); }
Operation large_copy() { return Operation::parse("copy:bytes=1Gi"); }

MeasureOptions one_load(Load load) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {load};
  // What varies within a process is proven apart from what differs between processes.
  options.process_variation = ProcessVariation();
  options.placement = 0;
  return options;
}

physics::Parameters one_process(const std::string& preset) {
  return physics::find_preset(preset)
      .without(physics::Mechanism::process_effect)
      .without(physics::Mechanism::placement);
}

}  // namespace jitterscope::selftest
