// What a device does unless it has a way of its own. Apart from open.cpp, which links every device there is.
#include "jitterscope/device.hpp"

#include "jitterscope/error.hpp"

namespace jitterscope {

void Device::choose_placement(std::int64_t) {
  throw UsageError(describe().id +
                   ": no placement can be chosen where the operating system gives out the pages; leave "
                   "--placement out, and start the program several times to see what other pages do");
}

}  // namespace jitterscope
