#!/usr/bin/env bash
# From a program to its calls, run again: capture --calls, show, list and replay, with stand-ins for CUDA and its
# libraries and a simulated GPU.
# usage: replay_of_capture.sh JITTERSCOPE RECORDED_PROGRAM STAND_INS
set -euo pipefail
jitterscope=$1 program=$2 stand_ins=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

calls=()
for _ in {1..12}; do
  # The second convolution reads what the first one wrote; a kernel of no library follows.
  calls+=(convolution:1000000:2000000:3000000 convolution:3000000:2000000:5000000 launch:1)
done
LD_LIBRARY_PATH=$stand_ins STAND_IN_CUDA_DEVICES=1 "$jitterscope" capture -o "$folder/a.capture" --detail light --calls -- \
  "$program" init "${calls[@]}" wait

# holds WHAT COMMAND…: its output, on one line, has WHAT.
holds() {
  local output
  output=$("${@:2}" | tr -s ' \n' ' ')
  [[ $output == *"$1"* ]] || { printf 'not found: %s\n%s\n' "$1" "$output" >&2; exit 1; }
}
holds "24 library calls explain" "$jitterscope" capture show "$folder/a.capture"
holds "2 layers that can be timed, 1 different operation" "$jitterscope" list "$folder/a.capture"
holds "of recorded GPU time can be replayed" "$jitterscope" replay "$folder/a.capture" --device virtual:h200 --processes 2
holds "conv2d" "$jitterscope" replay "$folder/a.capture" --device virtual:h200 --processes 2 --in-sequence
