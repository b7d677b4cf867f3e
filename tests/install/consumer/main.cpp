// What a program needs that uses jitterscope as a library.
#include <iostream>
#include <jitterscope/jitterscope.hpp>

int main() {
  const auto operation = jitterscope::Operation::parse("matmul:k=64,m=16,n=32");
  std::cout << "jitterscope " << jitterscope::version() << '\n'
            << operation.text() << " has " << operation.flops() << " FLOPs\n";
  return operation.flops() == 2.0 * 16 * 32 * 64 ? 0 : 1;
}
