#include "pytorch/training_script.hpp"

namespace jitterscope {

std::string_view training_script() {
  return
#include "record_training.py.inc"
      ;
}

}  // namespace jitterscope
