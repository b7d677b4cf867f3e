// y = a·x + y, one element for each thread. Timed by
//   jitterscope run cuda:examples/kernels/saxpy.cu:saxpy,n=1Mi,a=2.5,x=f32[n],y=inout:f32[n],block=256,grid=n/block
// and carried by the program itself as @saxpy.
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// The same in double, rounded once: what --verify compares with, by reference=saxpy_reference.
extern "C" __global__ void saxpy_reference(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(static_cast<double>(a) * x[i] + y[i]);
}
