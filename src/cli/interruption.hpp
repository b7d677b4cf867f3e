// Ctrl-C and its kin: asked for, not suffered.
#pragma once

namespace jitterscope::cli {

/// From now on SIGINT, SIGTERM and SIGHUP are remembered; the measuring loop asks between rounds, ends,
/// and keeps what it has. A signal more than a second later ends the process at once (clocks are restored by
/// their guardian).
void listen_for_interruption();
bool is_interrupted();

}  // namespace jitterscope::cli
