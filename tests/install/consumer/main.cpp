// What a program needs that uses jitterscope as a library.
#include <iostream>
#include <jitterscope/jitterscope.hpp>

int main() {
  const auto device = jitterscope::open_device("cpu");
  const auto operation = jitterscope::Operation::parse("matmul:k=64,m=16,n=32");
  const auto prepared = device->prepare(operation, {});
  const auto queue = device->make_queue();
  queue->launch(*prepared);
  queue->wait();
  const auto product = prepared->read_operand(operation.operands().size() - 1);

  std::cout << "jitterscope " << jitterscope::version() << '\n'
            << operation.text() << " by " << prepared->provider() << ", " << product.size() << " elements\n";

  jitterscope::MeasureOptions options;
  options.caches = {jitterscope::CacheState::warm};
  options.loads = {jitterscope::Load::burst};
  options.time_limit = jitterscope::milliseconds(200);
  const auto result = jitterscope::measure(
      *device, [&](jitterscope::NativeQueue native) { prepared->run(native); }, options);
  const auto median = result.measurements.at(0).time.median;
  std::cout << "measured " << median.value() << " ns\n";
  return product.size() == 16u * 32u && median > jitterscope::Nanoseconds(0) ? 0 : 1;
}
