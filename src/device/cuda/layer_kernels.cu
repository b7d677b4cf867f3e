// The kernels of all layers as one module: nvcc's start and its headers take longer than the kernels.
#include "device/cuda/kernels/batch_norm.cu"
#include "device/cuda/kernels/bias.cu"
#include "device/cuda/kernels/elementwise.cu"
#include "device/cuda/kernels/embedding.cu"
#include "device/cuda/kernels/layer_norm.cu"
#include "device/cuda/kernels/optimizer.cu"
#include "device/cuda/kernels/pooling.cu"
#include "device/cuda/kernels/softmax.cu"
