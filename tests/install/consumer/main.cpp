// What a program needs that uses jitterscope as a library.
#include <iostream>
#include <jitterscope/jitterscope.hpp>

int main() {
  std::cout << "jitterscope " << jitterscope::version() << '\n';
  return 0;
}
