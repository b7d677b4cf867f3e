"""The shared library shows the functions of jitterscope/c.h and nothing else: no C++ symbol meets another library's.

usage: exports_test.py LIBRARY HEADER
"""

import re
import subprocess
import sys

library, header = sys.argv[1:]
with open(header, encoding="utf-8") as file:
    declared = set(re.findall(r"^JITTERSCOPE_API [^;(]*?(\w+)\(", file.read(), re.MULTILINE))
listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = {line.split()[-1] for line in listed.splitlines()}
if not declared or exported != declared:
    sys.exit(f"declared and not exported: {sorted(declared - exported)}; exported and not declared: "
             f"{sorted(exported - declared)}")
