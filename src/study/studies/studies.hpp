// One file for each study; here is what they have in common.
#pragma once

#include "study/study.hpp"

namespace jitterscope::study::studies {

Study layout();
Study precision();
Study engine();
Study batch();
Study graph();
Study pinned();
Study compiler();
Study occupancy();
Study streams();
Study overlap();
Study dependencies();
Study synchronization();
Study priorities();
Study tiling();
Study waves();
Study access();
Study hierarchy();
Study allocator();
Study fragmentation();
Study fusion();

}  // namespace jitterscope::study::studies
