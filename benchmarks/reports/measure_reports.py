#!/usr/bin/env python3
"""How large a report is, and how long a browser takes until its plots are drawn.

usage: measure_reports.py [--jitterscope PROGRAM] [--chromium PROGRAM] [--repeats 5]

Needs playwright for Python and Chromium (scripts/setup python). Prints a Markdown table; a page of ResNet-50's layers
is to be drawn in under 2 s.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

DEVICE = ["--device", "virtual:h200"]
PAGES = {
    "one operation": ["run", "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16", *DEVICE],
    "a sweep of 64": ["run", "matmul:m=256..16384+256,n=1024,k=1024,dtype=f16", "--cache", "warm", "--load", "burst", *DEVICE],
    "ResNet-50's layers": ["run", "resnet50:batch=32", "--cache", "warm", "--load", "burst", *DEVICE],
    "ResNet-50's layers, alone and in place": ["run", "resnet50:batch=32", "--cache", "warm", "--load", "burst", "--in-sequence",
                                               *DEVICE],
    "2000 rounds, a million launches": ["run", "relu:count=1Ki", "--cache", "warm", "--load", "burst", "--min-rounds", "2000",
                                        "--time-limit", "100", *DEVICE],
}


def with_launches(record, count):
    """The same record with so many launches: those of each round again and again, each a little different."""
    read = json.loads(record.read_text())
    rounds = read["results"][0]["measurements"][0]["rounds"]
    for number, each in enumerate(rounds):
        known = each["launch_seconds"]
        each["launch_seconds"] = [known[i % len(known)] * (1 + 1e-7 * (i + number)) for i in range(count // len(rounds))]
    record.write_text(json.dumps(read))


def seconds_to_open(browser, file):
    context = browser.new_context(offline=True, viewport={"width": 960, "height": 900})
    page = context.new_page()
    began = time.monotonic()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn]", timeout=120_000)
    taken = time.monotonic() - began
    context.close()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitterscope", default="jitterscope")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, "
          f"{subprocess.run([arguments.chromium, '--version'], capture_output=True, text=True, check=True).stdout.strip()}\n")
    print("| page | record | page's file | drawn in, median | longest |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox", "--disable-gpu"])
        for title, words in PAGES.items():
            record, page = pathlib.Path(name, "r.json"), pathlib.Path(name, "r.html")
            done = subprocess.run([arguments.jitterscope, *words, "--json", str(record), "--html", str(page)],
                                  capture_output=True, text=True, check=False)
            if done.returncode not in (0, 4):
                sys.exit(f"measure_reports: {' '.join(words)}: {done.stderr.strip()}")
            if "million" in title:
                with_launches(record, 1_000_000)
                subprocess.run([arguments.jitterscope, "report", str(record), "-o", str(page)], check=True)
            times = [seconds_to_open(browser, page) for _ in range(arguments.repeats)]
            print(f"| {title} | {record.stat().st_size / 1e6:.2f} MB | {page.stat().st_size / 1e6:.2f} MB "
                  f"| {statistics.median(times):.2f} s | {max(times):.2f} s |")
        browser.close()


if __name__ == "__main__":
    main()
