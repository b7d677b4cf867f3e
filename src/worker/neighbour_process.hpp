// A fresh process that works beside this one on the same device.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "explain/neighbour.hpp"

namespace jitterscope {

/// `executable`: path of this program, of which `EXECUTABLE worker` is started; `device`: as open_device
/// takes it. Returns when it has opened the device. It ends with what is returned, or when this process ends,
/// however that comes about. Throws NeighbourLostError with the reason where it cannot.
std::unique_ptr<explain::Neighbour> start_neighbour_process(const std::string& executable,
                                                            const std::string& device,
                                                            const std::function<bool()>& interrupted);

}  // namespace jitterscope
